package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// audit audits ORDER and gives everything that it finds.
func (b bundle) audit(t *testing.T, f ledger.AuditFilter) ledger.Audit {
	t.Helper()
	a, err := b.Audit(t.Context(), f, 100)
	require.NoError(t, err)
	for _, r := range a.Reports {
		require.Equal(t, r.Values(), r.Sum(), "the classes add up to the values")
	}
	return a
}

func (b bundle) auditOrder(t *testing.T) ledger.Audit {
	t.Helper()
	return b.audit(t, ledger.AuditFilter{BizType: "ORDER"})
}

// everyState makes 100 numbers, of which some stand in each state.
func (b bundle) everyState(t *testing.T) {
	t.Helper()
	issued := b.issue(t, "batch-1", 80)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, issued[:30], 0)...)
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, issued[40:80], 0)...)
	b.passWindow(t)
	b.apply(t, sequence.OutcomeReplayable, commands(sequence.Replay, issued[50:80], 0)...)
	for _, c := range commands(sequence.Claim, issued[60:65], 0) {
		c.BatchID = "claim-1"
		b.apply(t, sequence.OutcomeClaimed, c)
	}
	for i, c := range commands(sequence.Bury, issued[65:80], 0) {
		c.Cause, c.Reason = sequence.CausePoolAway, "the pool is away"
		b.apply(t, sequence.OutcomeDead, c)
		if i >= 10 {
			b.apply(t, sequence.OutcomeWrittenOff, sequence.Command{Kind: sequence.WriteOff, Ticket: c.Ticket, Actor: "ann", Reason: "no longer needed"})
		}
	}
	reserved := b.allocate(t, "batch-2", 20)
	b.apply(t, sequence.OutcomeHandedBack, commands(sequence.HandBack, reserved[15:], 0)...)
}

func TestAnAuditAddsUpNumbersInEveryState(t *testing.T) {
	b := setup(t)
	b.everyState(t)
	a := b.auditOrder(t)
	require.Empty(t, a.Findings)
	require.True(t, a.Clean())
	require.WithinDuration(t, time.Now(), a.Time, time.Minute)
	require.Equal(t, []ledger.AuditReport{{
		BizType: "ORDER", Cursor: 100, HasCursor: true, From: 1, To: 100,
		States: [8]int64{sequence.Reserved: 15, sequence.Allocated: 10, sequence.Confirmed: 30, sequence.Abandoned: 10,
			sequence.Replayable: 15, sequence.Replayed: 5, sequence.Dead: 10, sequence.Retired: 5},
		Gaps:           10 + 10 + 5 + 10 + 5, // what was handed back was never issued
		RetiredReasons: []ledger.ReasonCount{{Reason: "no longer needed", Count: 5}},
	}}, a.Reports)

	require.Len(t, a.Gaps, 40)
	require.False(t, a.MoreGaps)
	for i, g := range a.Gaps {
		require.Equal(t, int64(41+i), g.Number.Value)
		require.WithinDuration(t, g.Number.AbandonedTime, g.Since, 0)
	}
	require.Equal(t, "the pool is away", a.Gaps[30].Number.Reason)
}

func TestAnAuditTellsSinceWhenANumberIsAGapThatNobodyGaveUp(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "batch-1", 2)
	for _, c := range commands(sequence.Bury, issued, 0) {
		c.Cause, c.Reason = sequence.CauseCancelled, sequence.ReasonCancelled
		b.apply(t, sequence.OutcomeDead, c)
	}
	b.exec(t, `UPDATE t_seq_issue_dead SET dead_time = '2026-01-02 03:04:05'`)
	b.apply(t, sequence.OutcomeWrittenOff, sequence.Command{Kind: sequence.WriteOff, Ticket: issued[1].Ticket(), Actor: "ann", Reason: "lost"})
	a := b.auditOrder(t)
	require.True(t, a.Clean())
	require.Len(t, a.Gaps, 2)
	for _, g := range a.Gaps {
		require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), g.Since)
	}
}

func TestAnAuditFinds(t *testing.T) {
	const row = `INSERT INTO t_seq_issue_log (biz_type, period, seq_no, value, batch_id, status, owner) VALUES `
	skip := func(b bundle, t *testing.T, lo, hi int64) {
		t.Helper()
		b.exec(t, `INSERT INTO t_seq_skip (biz_type, period, lo, hi, reason, declared_time) VALUES ('ORDER', '', ?, ?, 'for a test', UTC_TIMESTAMP(6))`, lo, hi)
	}
	type found struct {
		kind   ledger.FindingKind
		lo, hi int64
	}
	for name, tt := range map[string]struct {
		damage func(b bundle, t *testing.T)
		want   []found
	}{
		"values without a row, also at both ends": {
			func(b bundle, t *testing.T) {
				b.exec(t, `DELETE FROM t_seq_issue_log WHERE value IN (1, 2, 50, 51, 52, 54, 100)`)
			},
			[]found{{ledger.FindingUnaccounted, 1, 2}, {ledger.FindingUnaccounted, 50, 52}, {ledger.FindingUnaccounted, 54, 54}, {ledger.FindingUnaccounted, 100, 100}},
		},
		"a cursor that jumped far without rows": {
			func(b bundle, t *testing.T) { b.exec(t, `UPDATE t_seq_cursor SET value = 900000000000000000`) },
			[]found{{ledger.FindingUnaccounted, 101, 900000000000000000}},
		},
		"no rows at all": {
			func(b bundle, t *testing.T) { b.exec(t, `DELETE FROM t_seq_issue_log`) },
			[]found{{ledger.FindingUnaccounted, 1, 100}, {ledger.FindingSurplusLetter, 66, 75}},
		},
		"rows in a declared skip": {
			func(b bundle, t *testing.T) { skip(b, t, 91, 100) },
			[]found{{ledger.FindingTwice, 91, 100}},
		},
		"a row in a skip that hides a value without one": {
			func(b bundle, t *testing.T) {
				b.exec(t, `DELETE FROM t_seq_issue_log WHERE value IN (59, 61)`)
				skip(b, t, 60, 61)
			},
			[]found{{ledger.FindingUnaccounted, 59, 59}, {ledger.FindingTwice, 60, 60}},
		},
		"skips that overlap": {
			func(b bundle, t *testing.T) {
				b.exec(t, `DELETE FROM t_seq_issue_log WHERE value BETWEEN 20 AND 40`)
				skip(b, t, 20, 35)
				skip(b, t, 30, 40)
			},
			[]found{{ledger.FindingTwice, 30, 35}},
		},
		"rows above the cursor": {
			func(b bundle, t *testing.T) { b.exec(t, `UPDATE t_seq_cursor SET value = 97`) },
			[]found{{ledger.FindingAboveCursor, 98, 100}},
		},
		"a skip above the cursor": {
			func(b bundle, t *testing.T) { skip(b, t, 101, 2000000) },
			[]found{{ledger.FindingAboveCursor, 101, 2000000}},
		},
		"a cursor below the start": {
			func(b bundle, t *testing.T) { b.exec(t, `UPDATE t_seq_cursor SET value = -5`) },
			[]found{{ledger.FindingCursorBelowStart, -5, 0}, {ledger.FindingAboveCursor, 1, 100}},
		},
		"rows without a cursor": {
			func(b bundle, t *testing.T) { b.exec(t, `DELETE FROM t_seq_cursor`) },
			[]found{{ledger.FindingNoCursor, 1, 100}},
		},
		"rows of a biz type without rules": {
			func(b bundle, t *testing.T) { b.exec(t, `DELETE FROM t_seq_biz_type`) },
			[]found{{ledger.FindingNoBizType, 1, 1}},
		},
		"rows of an unknown status": {
			func(b bundle, t *testing.T) {
				b.exec(t, `ALTER TABLE t_seq_issue_log DROP CONSTRAINT ck_issue_status, DROP CONSTRAINT ck_issue_confirmed`)
				b.exec(t, `UPDATE t_seq_issue_log SET status = 9 WHERE value BETWEEN 7 AND 8`)
				b.exec(t, `UPDATE t_seq_issue_log SET status = -1 WHERE value = 9`)
			},
			[]found{{ledger.FindingUnknownStatus, 7, 8}, {ledger.FindingUnknownStatus, 9, 9}},
		},
		"numbers in the memory of an issuer that is not known": {
			func(b bundle, t *testing.T) {
				b.exec(t, `UPDATE t_seq_issue_log SET owner = 'nobody' WHERE value BETWEEN 84 AND 87`)
			},
			[]found{{ledger.FindingUnknownOwner, 84, 87}},
		},
		"numbers in the memory of an issuer that has ended": {
			func(b bundle, t *testing.T) { b.exec(t, `UPDATE t_seq_issuer SET state = 'ENDED'`) },
			[]found{{ledger.FindingUnknownOwner, 61, 65}, {ledger.FindingUnknownOwner, 81, 95}},
		},
		"numbers in the memory of an issuer that was recovered": {
			func(b bundle, t *testing.T) { b.exec(t, `UPDATE t_seq_issuer SET state = 'RECOVERED'`) },
			[]found{{ledger.FindingUnknownOwner, 61, 65}, {ledger.FindingUnknownOwner, 81, 95}},
		},
		"dead numbers without an open letter": {
			func(b bundle, t *testing.T) {
				b.exec(t, `UPDATE t_seq_issue_dead SET resolution = 'REQUEUED' WHERE value IN (67, 68)`)
				b.exec(t, `UPDATE t_seq_issue_dead SET life = 7 WHERE value = 70`)
			},
			[]found{{ledger.FindingDeadWithoutLetter, 67, 68}, {ledger.FindingDeadWithoutLetter, 70, 70}, {ledger.FindingSurplusLetter, 70, 70}},
		},
		"open letters whose number is not dead": {
			func(b bundle, t *testing.T) {
				b.exec(t, `UPDATE t_seq_issue_dead SET resolution = '' WHERE value IN (76, 77)`)
			},
			[]found{{ledger.FindingSurplusLetter, 76, 77}},
		},
		"a second open letter of a number": {
			func(b bundle, t *testing.T) {
				b.exec(t, `UPDATE t_seq_issue_dead SET seq_no = 'A-000067', value = 67 WHERE value = 66`)
			},
			[]found{{ledger.FindingDeadWithoutLetter, 66, 66}, {ledger.FindingSurplusLetter, 67, 67}},
		},
		"rows of a period that was never begun": {
			func(b bundle, t *testing.T) {
				b.exec(t, row+`('ORDER', '2026', 'A-900007', 7, 'x', 0, ?), ('ORDER', '2026', 'A-900009', 9, 'x', 0, ?)`, me, me)
			},
			[]found{{ledger.FindingNoCursor, 7, 7}, {ledger.FindingNoCursor, 9, 9}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.everyState(t)
			tt.damage(b, t)
			a := b.auditOrder(t)
			var got []found
			for _, f := range a.Findings {
				require.Equal(t, "ORDER", f.BizType)
				require.NotEmpty(t, f.Words)
				got = append(got, found{f.Kind, f.Lo, f.Hi})
			}
			require.Equal(t, tt.want, got)
			require.False(t, a.Clean())
			require.Zero(t, a.FindingsLeft)
		})
	}
}

func TestAnAuditIsCleanWithDeclaredSkips(t *testing.T) {
	b := setup(t)
	b.issue(t, "batch-1", 30)
	b.exec(t, `INSERT INTO t_seq_skip (biz_type, period, lo, hi, reason, declared_time) VALUES
		('ORDER', '', 31, 300030, 'a jump', UTC_TIMESTAMP(6)), ('ORDER', '', 300031, 600030, 'another', UTC_TIMESTAMP(6))`)
	b.exec(t, `UPDATE t_seq_cursor SET value = 600030`)
	b.issue(t, "batch-2", 5)
	a := b.auditOrder(t)
	require.Empty(t, a.Findings)
	require.Equal(t, int64(600_000), a.Reports[0].Skipped)
	require.Equal(t, int64(600_035), a.Reports[0].Values())
}

func TestAnAuditOfARange(t *testing.T) {
	b := setup(t)
	b.everyState(t)
	b.exec(t, `DELETE FROM t_seq_issue_log WHERE value IN (10, 20, 30)`)
	for name, tt := range map[string]struct {
		lo, hi     *int64
		from, to   int64
		findings   int
		gaps, held int64
	}{
		"from the middle on":         {new(int64(15)), nil, 15, 100, 2, 40, 20},
		"up to the middle":           {nil, new(int64(15)), 1, 15, 1, 0, 0},
		"a part":                     {new(int64(15)), new(int64(25)), 15, 25, 1, 0, 0},
		"one value":                  {new(int64(61)), new(int64(61)), 61, 61, 0, 1, 1},
		"more than there is":         {new(int64(0)), new(int64(1000)), 1, 100, 3, 40, 20},
		"what was not allocated yet": {new(int64(101)), new(int64(1000)), 101, 100, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := b.audit(t, ledger.AuditFilter{BizType: "ORDER", Lo: tt.lo, Hi: tt.hi})
			r := a.Reports[0]
			require.Equal(t, []int64{tt.from, tt.to}, []int64{r.From, r.To})
			require.Len(t, a.Findings, tt.findings)
			require.Equal(t, tt.gaps, r.Gaps)
			require.Len(t, a.Gaps, int(tt.gaps))
			require.Equal(t, tt.held, r.States[sequence.Reserved]+r.States[sequence.Replayed])
		})
	}
	for name, tt := range map[string]struct {
		filter ledger.AuditFilter
		want   error
	}{
		"no biz type for a range":    {ledger.AuditFilter{Lo: new(int64(1))}, sequence.ErrInvalid},
		"no biz type for a period":   {ledger.AuditFilter{Period: "2026"}, sequence.ErrInvalid},
		"a range that ends first":    {ledger.AuditFilter{BizType: "ORDER", Lo: new(int64(2)), Hi: new(int64(1))}, sequence.ErrInvalid},
		"a value below 0":            {ledger.AuditFilter{BizType: "ORDER", Lo: new(int64(-1))}, sequence.ErrInvalid},
		"no name of a biz type":      {ledger.AuditFilter{BizType: "order"}, sequence.ErrInvalid},
		"a biz type that is unknown": {ledger.AuditFilter{BizType: "NONE"}, sequence.ErrNotFound},
		"a period without numbers":   {ledger.AuditFilter{BizType: "ORDER", Period: "2026"}, sequence.ErrNotFound},
	} {
		t.Run("is refused for "+name, func(t *testing.T) {
			_, err := b.Audit(t.Context(), tt.filter, 100)
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestAnAuditOfAllBizTypesAndPeriods(t *testing.T) {
	b := setup(t)
	require.True(t, b.audit(t, ledger.AuditFilter{}).Clean(), "nothing was allocated")
	require.True(t, b.auditOrder(t).Clean(), "nothing was allocated")
	format, err := sequence.ParseFormat("D{yyyy}{MM}{dd}-{seq:4}")
	require.NoError(t, err)
	daily := sequence.NewBizType("DAILY", format)
	daily.Start = 1000
	require.NoError(t, b.CreateBizType(t.Context(), daily))
	b.issue(t, "batch-1", 3)
	_, err = b.Allocate(t.Context(), "DAILY", me, "batch-2", 5)
	require.NoError(t, err)
	for _, table := range []string{"t_seq_issue_log", "t_seq_cursor"} {
		b.exec(t, `UPDATE `+table+` SET period = '20200101' WHERE biz_type = 'DAILY'`)
	}
	b.exec(t, `UPDATE t_seq_issue_log SET seq_no = CONCAT('D20200101-', value) WHERE biz_type = 'DAILY'`)
	// The start was another in the period that is over.
	_, err = b.ChangeBizType(t.Context(), "DAILY", 1, func(b *sequence.BizType) error { b.Start = 10; return nil })
	require.NoError(t, err)
	require.Empty(t, b.audit(t, ledger.AuditFilter{}).Findings, "the period began at the old start")
	_, err = b.ChangeBizType(t.Context(), "DAILY", 2, func(b *sequence.BizType) error { b.Start = 2000; return nil })
	require.NoError(t, err)
	_, err = b.Allocate(t.Context(), "DAILY", me, "batch-3", 7)
	require.NoError(t, err)

	a := b.audit(t, ledger.AuditFilter{})
	require.Empty(t, a.Findings)
	require.Len(t, a.Reports, 3)
	values := map[string]int64{}
	for _, r := range a.Reports {
		values[fmt.Sprintf("%s from %d", r.BizType, r.From)] = r.Values()
	}
	require.Equal(t, map[string]int64{"DAILY from 1000": 5, "DAILY from 2000": 7, "ORDER from 1": 3}, values)

	one := b.audit(t, ledger.AuditFilter{BizType: "DAILY", Period: "20200101"})
	require.Len(t, one.Reports, 1)
	require.Equal(t, int64(1004), one.Reports[0].Cursor)
}

func TestGapsAreListedPageByPage(t *testing.T) {
	b := setup(t)
	b.everyState(t)
	first, err := b.Audit(t.Context(), ledger.AuditFilter{}, 7)
	require.NoError(t, err)
	require.True(t, first.MoreGaps)
	gaps, more := first.Gaps, true
	for more {
		var page []ledger.Gap
		page, more, _, err = b.Gaps(t.Context(), ledger.AuditFilter{}, gaps[len(gaps)-1].Position(), 11)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), 11)
		gaps = append(gaps, page...)
	}
	require.Equal(t, b.auditOrder(t).Gaps, gaps)

	all, err := b.Audit(t.Context(), ledger.AuditFilter{}, 40)
	require.NoError(t, err)
	require.False(t, all.MoreGaps, "exactly as many as were asked for")
}

// More rows than one statement reads.
func TestAnAuditGoesOnAcrossItsChunks(t *testing.T) {
	b := setup(t)
	for i := range 5 {
		b.allocate(t, fmt.Sprint("batch-", i), 9_000)
	}
	b.exec(t, `DELETE FROM t_seq_issue_log WHERE value IN (19999, 20000, 20001, 20002, 39000)`)
	b.exec(t, `UPDATE t_seq_issue_log SET owner = 'nobody' WHERE value BETWEEN 3 AND 44998`)
	a := b.auditOrder(t)
	require.Equal(t, []int64{44_995, 5}, []int64{a.Reports[0].States[sequence.Reserved], a.Reports[0].Unaccounted})
	var got [][2]int64
	for _, f := range a.Findings {
		got = append(got, [2]int64{f.Lo, f.Hi})
	}
	require.ElementsMatch(t, [][2]int64{{19999, 20002}, {39000, 39000}, {3, 19998}, {20003, 38999}, {39001, 44998}}, got)

	b.exec(t, `DELETE FROM t_seq_issue_log WHERE value % 3 = 0 AND value > 40000`)
	a = b.auditOrder(t)
	require.Len(t, a.Findings, ledger.MaxFindings)
	require.Positive(t, a.FindingsLeft)
}

// The audit sees one moment, whatever is written meanwhile.
func TestAnAuditIsCleanWhileNumbersAreIssued(t *testing.T) {
	b := setup(t)
	b.issue(t, "batch-0", 10)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 25 {
				block, err := b.Allocate(t.Context(), "ORDER", me, fmt.Sprintf("batch-%d-%d", w, i), 100)
				if err == nil {
					_, err = b.Apply(t.Context(), commands(sequence.Record, block, 1))
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	audits := 0
	for running := true; running; audits++ {
		select {
		case <-done:
			running = false
		default:
		}
		a := b.auditOrder(t)
		require.Empty(t, a.Findings)
		require.Zero(t, a.Reports[0].Cursor%100-10)
	}
	require.Positive(t, audits)
	require.Equal(t, int64(10_010), b.auditOrder(t).Reports[0].Values())
}

// Whether an audit ends well, in an error or by its caller, no connection stays in its snapshot.
func TestAnAuditLeavesItsConnectionAsItWas(t *testing.T) {
	b := setup(t)
	b.issue(t, "batch-1", 1)
	b.DB().SetMaxOpenConns(1)
	for name, audit := range map[string]func(){
		"after an audit": func() { b.auditOrder(t) },
		"after an error": func() {
			_, err := b.Audit(t.Context(), ledger.AuditFilter{BizType: "NONE"}, 1)
			require.ErrorIs(t, err, sequence.ErrNotFound)
		},
		"after its caller left": func() {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := b.Audit(ctx, ledger.AuditFilter{}, 1)
			require.ErrorIs(t, err, context.Canceled)
		},
	} {
		t.Run(name, func(t *testing.T) {
			audit()
			var isolation string
			require.NoError(t, b.DB().QueryRowContext(t.Context(), `SELECT @@SESSION.tx_isolation`).Scan(&isolation))
			require.Equal(t, "READ-COMMITTED", isolation)
			b.exec(t, `UPDATE t_seq_cursor SET value = value + 1`) // a snapshot is read-only
			b.exec(t, `UPDATE t_seq_cursor SET value = value - 1`)
		})
	}
}
