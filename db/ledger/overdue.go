package ledger

import (
	"context"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// OverdueGrace is how long after its deadline a number's own run has to see to it.
const OverdueGrace = 5 * time.Second

// The scan reads idx_status_deadline in its order, one state at a time.
const (
	selectOverdue = `SELECT ` + numberColumns + ` FROM t_seq_issue_log FORCE INDEX (idx_status_deadline)
		WHERE status = ? AND deadline < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
		AND (taken_until IS NULL OR taken_until < UTC_TIMESTAMP(6)) AND (deadline > ? OR deadline = ? AND id > ?)`
	orderOverdue = ` ORDER BY deadline, id LIMIT ?`

	queryOverdue        = selectOverdue + orderOverdue
	queryOverdueTracked = selectOverdue + ` AND tracked = ?` + orderOverdue

	queryOverdueTaken = `SELECT ` + numberColumns + ` FROM t_seq_issue_log FORCE INDEX (idx_status_deadline)
		WHERE status = ? AND deadline < UTC_TIMESTAMP(6) AND taken_until >= UTC_TIMESTAMP(6)
		AND (deadline > ? OR deadline = ? AND id > ?)` + orderOverdue
)

// Overdue reads at most limit numbers in the state, Allocated, Abandoned or Replayable, whose deadline passed
// OverdueGrace ago or earlier, by the order of deadline and id, after the given one; the zero Number
// begins at the start. Those that a Compensation has taken on are left out.
func (l *Ledger) Overdue(ctx context.Context, state sequence.State, after sequence.Number, limit int) ([]sequence.Number, error) {
	numbers, err := scanNumbers(l.db.QueryContext(ctx, queryOverdue, append(overdueArgs(state, OverdueGrace, after), limit)...))
	return numbers, classify("look for overdue numbers", err)
}

// OverdueTracked reads of the same those that have a run of their own, or those that have none. Of the
// latter nobody else sees to any, so they are due as soon as their deadline has passed.
func (l *Ledger) OverdueTracked(ctx context.Context, state sequence.State, tracked bool, after sequence.Number, limit int) ([]sequence.Number, error) {
	grace := OverdueGrace
	if !tracked {
		grace = 0
	}
	numbers, err := scanNumbers(l.db.QueryContext(ctx, queryOverdueTracked, append(overdueArgs(state, grace, after), tracked, limit)...))
	return numbers, classify("look for overdue numbers", err)
}

// OverdueTaken reads of the numbers in the state whose deadline has passed those that a Compensation has taken on.
func (l *Ledger) OverdueTaken(ctx context.Context, state sequence.State, after sequence.Number, limit int) ([]sequence.Number, error) {
	from := scanFrom(after)
	numbers, err := scanNumbers(l.db.QueryContext(ctx, queryOverdueTaken, state, from, from, after.ID, limit))
	return numbers, classify("look for numbers that were taken on", err)
}

func overdueArgs(state sequence.State, grace time.Duration, after sequence.Number) []any {
	from := scanFrom(after)
	return []any{state, grace.Microseconds(), from, from, after.ID}
}

// scanFrom is the deadline of the number that a scan goes on after.
func scanFrom(after sequence.Number) time.Time { return orEpoch(after.Deadline) }

// orEpoch is the time, or one that is before all others.
func orEpoch(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return t
}

const queryOldest = `(SELECT status, TIMESTAMPDIFF(MICROSECOND, deadline, UTC_TIMESTAMP(6)) FROM t_seq_issue_log FORCE INDEX (idx_status_deadline)
	WHERE status = ? AND deadline < UTC_TIMESTAMP(6) AND (taken_until IS NULL OR taken_until < UTC_TIMESTAMP(6)) ORDER BY deadline LIMIT 1)`

// OldestOverdue says for how long the number has been overdue that is so for longest, of each state that has a
// deadline; 0 where none is. Once that rises nobody sees to them.
func (l *Ledger) OldestOverdue(ctx context.Context) (map[sequence.State]time.Duration, error) {
	type age struct {
		state  sequence.State
		micros int64
	}
	rows, err := l.db.QueryContext(ctx, queryOldest+" UNION ALL "+queryOldest+" UNION ALL "+queryOldest, sequence.Allocated, sequence.Abandoned, sequence.Replayable)
	ages, err := collect(rows, err, func(row row) (a age, err error) { return a, row.Scan(&a.state, &a.micros) })
	if err != nil {
		return nil, classify("look for the number that is overdue for longest", err)
	}
	oldest := map[sequence.State]time.Duration{sequence.Allocated: 0, sequence.Abandoned: 0, sequence.Replayable: 0}
	for _, a := range ages {
		oldest[a.state] = time.Duration(a.micros) * time.Microsecond
	}
	return oldest, nil
}
