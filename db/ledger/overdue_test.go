package ledger_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// The scans of the patrol read their index in its order: no sort, and no more rows than they give, however
// many there are that are not overdue.
func TestScansReadTheirIndex(t *testing.T) {
	b := setup(t)
	block := b.allocate(t, "batch-1", 2_000)
	b.apply(t, sequence.OutcomeRecorded, commands(sequence.Record, block, 1)...)
	b.exec(t, "ANALYZE TABLE t_seq_issue_log")
	at := time.Now().UTC()
	for name, q := range map[string]struct {
		query string
		args  []any
	}{
		"overdue":           {ledger.QueryOverdue, []any{1, 0, at, at, 7, 500}},
		"overdue, tracked":  {ledger.QueryOverdueTracked, []any{1, 0, at, at, 7, true, 500}},
		"overdue, taken":    {ledger.QueryOverdueTaken, []any{1, at, at, 7, 500}},
		"waiting":           {ledger.QueryWaiting, []any{1, "ORDER", at, at, 7, 500}},
		"ended in outage":   {ledger.QueryEndedIn, []any{1, at, at, 500}},
		"held by an issuer": {ledger.QueryHeldBy, []any{me, 500}},
	} {
		var plan string
		require.NoError(t, b.DB().QueryRowContext(t.Context(), "EXPLAIN FORMAT=JSON "+q.query, q.args...).Scan(&plan), name)
		require.True(t, json.Valid([]byte(plan)))
		require.Contains(t, plan, `"idx_status_deadline"`, name)
		if name != "held by an issuer" { // a few rows at any time, in no order
			require.NotContains(t, plan, "filesort", "%s: %s", name, plan)
		}
	}
}
