package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of one page of a list.
const (
	maxListed = 10_000 // rows that are looked at
	listChunk = 500    // rows that are read at a time, or as many as are asked for
)

// NumberFilter says which numbers are meant: those for which all that is given holds.
type NumberFilter struct {
	BizType  string
	State    *sequence.State
	BizKey   string
	From, To string // seq nos, both included
	// Since and Until bound the hand-out of the present life; Until is not included.
	Since, Until time.Time
	// Overdue: the deadline passed OverdueFor ago or earlier, and nobody has taken the number on.
	Overdue    bool
	OverdueFor time.Duration
}

// Validate refuses what no index finds, with what to add, and what contradicts itself; all faults joined.
func (f NumberFilter) Validate() error {
	ranged := f.From != "" || f.To != ""
	timed := !f.Since.IsZero() || !f.Until.IsZero()
	var faults []error
	if f.BizType == "" && !f.Overdue {
		faults = append(faults, sequence.Invalidf("bizType", "is missing: only overdue numbers are looked for in all biz types at once"))
	}
	if f.Overdue && (f.BizKey != "" || ranged || timed) {
		faults = append(faults, sequence.Invalidf("overdueFor", "goes with bizType and state alone: it reads the numbers by their deadlines"))
	}
	if f.Overdue && f.State != nil && !hasDeadline(*f.State) {
		faults = append(faults, sequence.Invalidf("state", "%s has no deadline, so none is overdue in it", *f.State))
	}
	if f.OverdueFor < 0 || f.OverdueFor > 365*24*time.Hour {
		faults = append(faults, sequence.Invalidf("overdueFor", "%s is not from 0 s to 365 days", f.OverdueFor))
	}
	if timed && f.BizKey == "" && !ranged && (f.State == nil || *f.State == sequence.Confirmed) {
		faults = append(faults, sequence.Invalidf("since", "no index leads by time alone, and a biz type may have many million numbers: add a bizKey, fromSeqNo or toSeqNo, or a state other than CONFIRMED"))
	}
	if f.To != "" && f.From > f.To {
		faults = append(faults, sequence.Invalidf("toSeqNo", "%s comes before fromSeqNo, %s", f.To, f.From))
	}
	if !f.Until.IsZero() && f.Until.Before(f.Since) {
		faults = append(faults, sequence.Invalidf("until", "is before since"))
	}
	return errors.Join(faults...)
}

func hasDeadline(s sequence.State) bool {
	return s == sequence.Allocated || s == sequence.Abandoned || s == sequence.Replayable
}

// The four ways of a list, each by one index in its order.
const (
	queryByKey = `SELECT ` + numberColumns + ` FROM t_seq_issue_log FORCE INDEX (idx_biz_key)
		WHERE biz_type = ? AND biz_key = ? AND id > ? ORDER BY id LIMIT ?`
	queryBySeqNo = `SELECT ` + numberColumns + ` FROM t_seq_issue_log FORCE INDEX (uk_biz_seq)
		WHERE biz_type = ? AND seq_no > ? AND seq_no >= ? AND seq_no <= ? ORDER BY seq_no LIMIT ?`
	queryByDeadline = `SELECT ` + numberColumns + ` FROM t_seq_issue_log FORCE INDEX (idx_status_deadline)
		WHERE status = ? AND (deadline > ? OR deadline = ? AND id > ?)` + orderOverdue
	queryByState = `SELECT ` + numberColumns + ` FROM t_seq_issue_log FORCE INDEX (idx_status_deadline)
		WHERE status = ? AND deadline IS NULL AND id > ? ORDER BY id LIMIT ?`
)

// lastSeqNo comes after every seq no in the order of ASCII.
const lastSeqNo = "~"

// List reads at most limit of the numbers, those after the given one; the zero Number begins at the start. It looks
// at 10,000 rows at most. The last one that it looked at goes into the call for the next page, of which it is
// the zero Number where there is none.
func (l *Ledger) List(ctx context.Context, f NumberFilter, after sequence.Number, limit int) (numbers []sequence.Number, last sequence.Number, err error) {
	if err := f.Validate(); err != nil {
		return nil, last, err
	}
	states := f.states(after)
	for looked := 0; looked < maxListed; {
		chunk := max(limit, listChunk)
		rows, err := l.listChunk(ctx, f, states, after, chunk)
		if err != nil {
			return nil, last, classify("list numbers", err)
		}
		for _, n := range rows {
			after = n
			if f.holds(n) {
				numbers = append(numbers, n)
			}
			if len(numbers) == limit {
				return numbers, after, nil
			}
		}
		if looked += len(rows); len(rows) < chunk { // the end, of this state
			if len(states) < 2 {
				return numbers, last, nil
			}
			states, after = states[1:], sequence.Number{}
		}
	}
	return numbers, after, nil
}

// states are those that are gone through, one after the other, from that of after on; none for what is not read
// by states.
func (f NumberFilter) states(after sequence.Number) []sequence.State {
	switch {
	case f.BizKey != "" || f.From != "" || f.To != "":
		return nil
	case f.State != nil && *f.State != sequence.Confirmed:
		return []sequence.State{*f.State}
	case !f.Overdue:
		return nil // of the confirmed there are most: they lie close enough by their seq nos
	}
	all := []sequence.State{sequence.Allocated, sequence.Abandoned, sequence.Replayable}
	for after.ID != 0 && len(all) > 1 && all[0] != after.State {
		all = all[1:]
	}
	return all
}

func (l *Ledger) listChunk(ctx context.Context, f NumberFilter, states []sequence.State, after sequence.Number, limit int) ([]sequence.Number, error) {
	from := scanFrom(after)
	switch {
	case f.BizKey != "":
		return scanNumbers(l.db.QueryContext(ctx, queryByKey, f.BizType, f.BizKey, after.ID, limit))
	case len(states) == 0:
		to := f.To
		if to == "" {
			to = lastSeqNo
		}
		return scanNumbers(l.db.QueryContext(ctx, queryBySeqNo, f.BizType, after.SeqNo, f.From, to, limit))
	case f.Overdue:
		return scanNumbers(l.db.QueryContext(ctx, queryOverdue, append(overdueArgs(states[0], f.OverdueFor, after), limit)...))
	case hasDeadline(states[0]):
		return scanNumbers(l.db.QueryContext(ctx, queryByDeadline, states[0], from, from, after.ID, limit))
	}
	return scanNumbers(l.db.QueryContext(ctx, queryByState, states[0], after.ID, limit))
}

// holds says whether a row that an index led to is meant.
func (f NumberFilter) holds(n sequence.Number) bool {
	return (f.BizType == "" || n.BizType == f.BizType) &&
		(f.State == nil || n.State == *f.State) &&
		n.SeqNo >= f.From && (f.To == "" || n.SeqNo <= f.To) &&
		(f.Since.IsZero() || !n.IssuedTime.Before(f.Since)) &&
		(f.Until.IsZero() || !n.IssuedTime.IsZero() && n.IssuedTime.Before(f.Until))
}
