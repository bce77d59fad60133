package ledger_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestCensus(t *testing.T) {
	b := setup(t)
	census := func() ledger.Census {
		c, err := b.Census(t.Context())
		require.NoError(t, err)
		return c
	}
	none := map[sequence.State]int64{
		sequence.Reserved: 0, sequence.Allocated: 0, sequence.Abandoned: 0, sequence.Replayable: 0, sequence.Replayed: 0, sequence.Dead: 0, sequence.Retired: 0,
	}
	require.Equal(t, ledger.Census{States: none, DeadLetters: map[string]int64{}}, census())

	b.allocate(t, "batch-1", 2)
	issued := b.issue(t, "batch-2", 6)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, issued[:1], 0)...)
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, issued[1:4], 0)...)
	bury := commands(sequence.Bury, issued[1:2], 0)
	bury[0].Cause = sequence.CausePoolAway
	b.apply(t, sequence.OutcomeDead, bury...)
	_, err := b.DB().ExecContext(t.Context(), "UPDATE t_seq_issue_log SET abandoned_time = abandoned_time - INTERVAL 1 HOUR, deadline = deadline - INTERVAL 1 HOUR WHERE seq_no = ?", issued[2].SeqNo)
	require.NoError(t, err)

	c := census()
	require.Equal(t, map[sequence.State]int64{
		sequence.Reserved: 2, sequence.Allocated: 2, sequence.Abandoned: 2, sequence.Replayable: 0, sequence.Replayed: 0, sequence.Dead: 1, sequence.Retired: 0,
	}, c.States)
	require.Equal(t, map[string]int64{"ORDER": 1}, c.DeadLetters)
	require.Greater(t, c.OldestInWindow.Minutes(), 59.0)
}

func TestACensusReadsIndexes(t *testing.T) {
	b := setup(t)
	b.issue(t, "batch-1", 50)
	for index, q := range map[string]struct {
		query string
		args  []any
	}{
		"idx_status_deadline": {ledger.QueryStateCount, []any{1, 1, ledger.CensusBound}},
		"idx_dead_open":       {ledger.QueryOpenLetters, []any{ledger.CensusBound}},
	} {
		var plan string
		require.NoError(t, b.DB().QueryRowContext(t.Context(), "EXPLAIN FORMAT=JSON "+q.query, q.args...).Scan(&plan))
		require.Contains(t, plan, index)
		require.Equal(t, index == "idx_status_deadline", strings.Contains(plan, `"using_index": true`), "the index alone counts numbers: %s", plan)
	}
	var plan string
	require.NoError(t, b.DB().QueryRowContext(t.Context(), "EXPLAIN FORMAT=JSON "+ledger.QueryWindowAge).Scan(&plan))
	require.Contains(t, plan, "idx_status_deadline")
	require.NotContains(t, plan, "filesort")
}
