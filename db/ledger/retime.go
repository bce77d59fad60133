package ledger

import (
	"context"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	queryRetimeDue = `SELECT UTC_TIMESTAMP(6), ` + bizTypeColumns + bizTypeState + ` FROM t_seq_biz_type WHERE retime_due ORDER BY name`
	queryWaiting   = `SELECT ` + numberColumns + ` FROM t_seq_issue_log FORCE INDEX (idx_status_deadline)
		WHERE status = ? AND biz_type = ? AND (deadline > ? OR deadline = ? AND id > ?) ORDER BY deadline, id LIMIT ?`
	updateRetimed = `UPDATE t_seq_biz_type SET retime_due = FALSE WHERE name = ? AND revision = ?`
)

// RetimeDue reads the biz types whose window or confirm timeout was changed and whose waiting numbers
// may still go by the old ones.
func (l *Ledger) RetimeDue(ctx context.Context) ([]sequence.BizType, error) {
	types, err := scanBizTypes(l.db.QueryContext(ctx, queryRetimeDue))
	return types, classify("read the biz types whose timing changed", err)
}

// Waiting reads at most limit numbers of the biz type in the state, Allocated or Abandoned, by the
// order of deadline and id, after the given one; the zero Number begins at the start.
func (l *Ledger) Waiting(ctx context.Context, bizType string, state sequence.State, after sequence.Number, limit int) ([]sequence.Number, error) {
	from := after.Deadline
	if from.IsZero() {
		from = time.Unix(0, 0).UTC()
	}
	numbers, err := scanNumbers(l.db.QueryContext(ctx, queryWaiting, state, bizType, from, from, after.ID, limit))
	return numbers, classify("look for waiting numbers of "+bizType, err)
}

// Retimed says that all waiting numbers go by the rules of that revision. A later change is not undone.
func (l *Ledger) Retimed(ctx context.Context, bizType string, revision int64) error {
	_, err := l.exec(ctx, updateRetimed, bizType, revision)
	return classify("mark the timing of "+bizType+" as done", err)
}
