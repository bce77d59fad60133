package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// sum adds up what happened in all minutes, so that a test may run over the end of one.
func sum(minutes []ledger.Moves) (all ledger.Moves) {
	for _, m := range minutes {
		all.Issued, all.Confirmed, all.Abandoned = all.Issued+m.Issued, all.Confirmed+m.Confirmed, all.Abandoned+m.Abandoned
	}
	return all
}

func (b bundle) activity(t *testing.T) (ledger.Activity, ledger.TypeActivity) {
	t.Helper()
	a, err := b.Activity(t.Context(), 15)
	require.NoError(t, err)
	require.Len(t, a.Types, 1)
	require.Len(t, a.Types[0].Minutes, 15)
	return a, a.Types[0]
}

func TestActivityIsTheSumOfAllProcesses(t *testing.T) {
	b := setup(t)
	other, err := ledger.Open(b.dsn)
	require.NoError(t, err)
	defer other.Close() //nolint:errcheck // the test is over
	issued := b.issue(t, "b1", 10)
	_, err = other.Apply(t.Context(), commands(sequence.Confirm, issued[:6], 0))
	require.NoError(t, err)
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, issued[6:9], 0)...)
	b.apply(t, sequence.OutcomeRescued, commands(sequence.Confirm, issued[8:9], 0)...)
	b.apply(t, sequence.OutcomeAlreadyConfirmed, commands(sequence.Confirm, issued[8:9], 0)...)
	_, before := b.activity(t)
	require.Zero(t, sum(before.Minutes), "nothing was written yet")
	require.NoError(t, b.FlushActivity(t.Context()))
	require.NoError(t, other.FlushActivity(t.Context()))
	require.NoError(t, b.FlushActivity(t.Context()), "what was written is not written again")
	a, now := b.activity(t)
	require.Equal(t, ledger.Moves{Issued: 10, Confirmed: 7, Abandoned: 3}, sum(now.Minutes))
	require.Equal(t, int64(10), now.Cursor)
	require.Zero(t, a.Minute.Second())
	require.LessOrEqual(t, a.Now.Sub(a.Minute), time.Minute)
}

func TestActivityForgetsAfterADay(t *testing.T) {
	b := setup(t)
	_, err := b.DB().ExecContext(t.Context(), "INSERT INTO t_seq_activity VALUES ('ORDER', UTC_TIMESTAMP() - INTERVAL 2 DAY, 1, 1, 1), ('ORDER', UTC_TIMESTAMP() - INTERVAL 2 HOUR, 1, 1, 1)")
	require.NoError(t, err)
	require.NoError(t, b.PurgeActivity(t.Context()))
	var left int
	require.NoError(t, b.DB().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t_seq_activity").Scan(&left))
	require.Equal(t, 1, left)
	_, now := b.activity(t)
	require.Zero(t, sum(now.Minutes), "of the last quarter of an hour")
}

func TestActivityShowsWhatWaits(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "b1", 3)
	b.bury(t, sequence.CausePoolAway, issued[:1])
	_, err := b.DB().ExecContext(t.Context(), "UPDATE t_seq_issue_log SET deadline = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR WHERE seq_no = ?", issued[1].SeqNo)
	require.NoError(t, err)
	another := commands(sequence.Confirm, issued[2:], 0)
	one := another[0]
	one.BizKey, another[0].BizKey = "one", "another"
	_, err = b.Apply(t.Context(), []sequence.Command{one, another[0]})
	require.NoError(t, err)
	_, now := b.activity(t)
	require.Equal(t, int64(1), now.DeadLetters)
	require.Equal(t, int64(1), now.Conflicts)
	require.InDelta(t, time.Hour, now.Overdue, float64(time.Minute))
}

// What is sealed is counted by its seals, so it must come to what the rows come to.
func TestTheStockIsWhatTheRowsAre(t *testing.T) {
	b := setup(t)
	rows := func() map[sequence.State]int64 {
		states := map[sequence.State]int64{}
		found, err := b.DB().QueryContext(t.Context(), "SELECT status, COUNT(*) FROM (SELECT status FROM t_seq_issue_log UNION ALL SELECT status FROM t_seq_archive) n GROUP BY status")
		require.NoError(t, err)
		defer found.Close() //nolint:errcheck // it was read
		for found.Next() {
			var state sequence.State
			var n int64
			require.NoError(t, found.Scan(&state, &n))
			states[state] = n
		}
		return states
	}
	count := func() {
		_, err := b.DB().ExecContext(t.Context(), "UPDATE t_seq_stock_count SET next_time = UTC_TIMESTAMP(6)")
		require.NoError(t, err)
		counted, err := b.CountStock(t.Context())
		require.NoError(t, err)
		require.True(t, counted)
	}
	a, now := b.activity(t)
	require.True(t, a.Stale)
	require.Nil(t, now.States, "nobody has counted")

	b.issue(t, "b1", 25)
	count()
	a, now = b.activity(t)
	require.False(t, a.Stale, "not again so soon")
	require.False(t, a.CountedTime.IsZero())
	require.Equal(t, rows(), now.States)
	counted, err := b.CountStock(t.Context())
	require.NoError(t, err)
	require.False(t, counted, "others are told that it was done")

	b.daily(t)
	numbers := b.past(t, 3, 5, 3, false)
	b.past(t, 2, 4, 2, true)
	require.Equal(t, 1, b.seal(t), "of two blocks, one has an open number")
	b.apply(t, sequence.OutcomeRescued, commands(sequence.Confirm, numbers[6:7], 0)...)
	b.issue(t, "b2", 5)
	count()
	all := map[sequence.State]int64{}
	a, err = b.Activity(t.Context(), 1)
	require.NoError(t, err)
	for _, of := range a.Types {
		for state, n := range of.States {
			all[state] += n
		}
	}
	require.Equal(t, rows(), all, "with a sealed block, an amendment of it, and one that is open")
}
