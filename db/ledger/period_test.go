package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

// daily is INV: {yyyy}{MM}{dd}-{seq:2}, issued again in its own period only.
func (b bundle) daily(t *testing.T) sequence.BizType {
	t.Helper()
	d := order(t)
	d.Name, d.Format, d.Reuse, d.Start = "INV", must(sequence.ParseFormat("{yyyy}{MM}{dd}-{seq:2}")), sequence.ReuseSamePeriod, 5
	require.NoError(t, b.CreateBizType(t.Context(), d))
	return d
}

// yesterday makes everything of INV a day older, as if it had been allocated yesterday.
func (b bundle) yesterday(t *testing.T) {
	t.Helper()
	for _, table := range []string{"t_seq_cursor", "t_seq_issue_log"} {
		b.exec(t, "UPDATE "+table+" SET period = DATE_FORMAT(UTC_DATE() - INTERVAL 1 DAY, '%Y%m%d') WHERE biz_type = 'INV'")
	}
	b.exec(t, "UPDATE t_seq_issue_log SET seq_no = CONCAT(period, '-', LPAD(value, 2, '0')) WHERE biz_type = 'INV'")
	b.Forget()
}

func TestEachPeriodHasItsOwnValues(t *testing.T) {
	b := setup(t)
	daily := b.daily(t)
	first, err := b.Allocate(t.Context(), "INV", me, "batch-1", 3)
	require.NoError(t, err)
	b.yesterday(t)
	now, err := b.Now(t.Context())
	require.NoError(t, err)
	second, err := b.Allocate(t.Context(), "INV", me, "batch-2", 3)
	require.NoError(t, err)
	require.Equal(t, int64(5), first[0].Value)
	require.Equal(t, int64(5), second[0].Value, "a period begins at the start")
	require.Equal(t, daily.Period(now), second[0].Period)
	require.Equal(t, second[0].Period+"-05", second[0].SeqNo)
	require.Equal(t, 2, b.count(t, "SELECT COUNT(*) FROM t_seq_cursor WHERE biz_type = 'INV'"))

	_, err = b.Allocate(t.Context(), "INV", me, "batch-3", 99)
	require.NoError(t, err)
	_, err = b.Allocate(t.Context(), "INV", me, "batch-4", 1)
	require.ErrorIs(t, err, sequence.ErrFull, "each period is full for itself")
}

// Yesterday's number is not issued under today's date: wherever it stands it is retired.
func TestSamePeriodRetiresWhatIsOver(t *testing.T) {
	b := setup(t)
	b.daily(t)
	block, err := b.Allocate(t.Context(), "INV", me, "batch-1", 4)
	require.NoError(t, err)
	issued := b.apply(t, sequence.OutcomeRecorded, commands(sequence.Record, block[:3], 1)...)
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, issued[:2], 0)...)
	b.passWindow(t)
	b.apply(t, sequence.OutcomeReplayable, commands(sequence.Replay, issued[:1], 0)...)
	b.yesterday(t)
	rows := func(status sequence.State) []sequence.Number {
		due, err := b.HeldBy(t.Context(), me, 10)
		if status != sequence.Reserved {
			b.exec(t, "UPDATE t_seq_issue_log SET deadline = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR WHERE deadline IS NOT NULL AND status = ?", status)
			due, err = b.Overdue(t.Context(), status, sequence.Number{}, 10)
		}
		require.NoError(t, err)
		require.Len(t, due, 1)
		return due
	}
	b.apply(t, sequence.OutcomeRetired, commands(sequence.Claim, rows(sequence.Replayable), 0)...)
	b.apply(t, sequence.OutcomeRetired, commands(sequence.Replay, rows(sequence.Abandoned), 0)...)
	b.apply(t, sequence.OutcomeRetired, commands(sequence.HandBack, rows(sequence.Reserved), 0)...)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, rows(sequence.Allocated), 0)...)
	require.Equal(t, 3, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 7 AND reason = ?", sequence.ReasonPeriodOver))
}

func TestWhatIsFixedOnceANumberWasAllocated(t *testing.T) {
	b := setup(t)
	change := func(revision int64, f func(*sequence.BizType)) (sequence.BizType, error) {
		return b.ChangeBizType(t.Context(), "ORDER", revision, func(o *sequence.BizType) error { f(o); return nil })
	}
	berlin := must(sequence.ParseZone("Europe/Berlin"))
	changed, err := change(1, func(o *sequence.BizType) {
		o.Format, o.Source, o.TimeZone, o.Start = must(sequence.ParseFormat("B-{seq:6}")), sequence.SourceRedis, berlin, 100
	})
	require.NoError(t, err)
	require.Equal(t, int64(2), changed.Revision)
	require.Equal(t, "B-000100", b.allocate(t, "batch-1", 1)[0].SeqNo)

	for field, f := range map[string]func(*sequence.BizType){
		"format":   func(o *sequence.BizType) { o.Format = must(sequence.ParseFormat("C-{seq:6}")) },
		"source":   func(o *sequence.BizType) { o.Source = sequence.SourceSegment },
		"timeZone": func(o *sequence.BizType) { o.TimeZone = sequence.Zone{} },
		"start":    func(o *sequence.BizType) { o.Start = 1 },
	} {
		_, err := change(2, f)
		var invalid *sequence.InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, field, invalid.Field)
	}
	changed, err = change(2, func(o *sequence.BizType) {
		o.PoolOrder, o.DurableIssue, o.Reuse, o.SafetyWindow = sequence.PoolOrderOldest, true, sequence.ReuseNever, time.Minute
	})
	require.NoError(t, err)
	read, err := b.BizType(t.Context(), "ORDER")
	require.NoError(t, err)
	require.Equal(t, read.TimeZone.String(), changed.TimeZone.String())
	changed.TimeZone = read.TimeZone
	require.Equal(t, read, changed)
	require.True(t, b.allocate(t, "batch-2", 1)[0].Durable)
	require.Equal(t, 1, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE durable"), "the row says how its number is held")
}
