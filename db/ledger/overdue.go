package ledger

import (
	"context"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// OverdueGrace is how long after its deadline a number's own run has to see to it.
const OverdueGrace = 5 * time.Second

// The scan reads idx_status_deadline in its order, one state at a time.
const queryOverdue = `SELECT ` + numberColumns + ` FROM t_seq_issue_log FORCE INDEX (idx_status_deadline)
	WHERE status = ? AND deadline < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
	AND (taken_until IS NULL OR taken_until < UTC_TIMESTAMP(6)) AND (deadline > ? OR deadline = ? AND id > ?)
	ORDER BY deadline, id LIMIT ?`

// Overdue reads at most limit numbers in the state, Allocated, Abandoned or Replayable, whose deadline passed
// OverdueGrace ago or earlier, by the order of deadline and id, after the given one; the zero Number
// begins at the start. Those that a Compensation has taken on are left out.
func (l *Ledger) Overdue(ctx context.Context, state sequence.State, after sequence.Number, limit int) ([]sequence.Number, error) {
	from := after.Deadline
	if from.IsZero() {
		from = time.Unix(0, 0).UTC()
	}
	numbers, err := scanNumbers(l.db.QueryContext(ctx, queryOverdue, state, OverdueGrace.Microseconds(), from, from, after.ID, limit))
	return numbers, classify("look for overdue numbers", err)
}
