package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/lacuna-seq/lacuna/sequence"
)

// AuditReport is how the values of one biz type and period add up.
type AuditReport struct {
	BizType, Period string
	Cursor          int64 // the highest value allocated
	HasCursor       bool
	// From and To are what was audited: all up to the cursor within the range asked for. To is From - 1 where
	// that is nothing.
	From, To int64
	// States counts the rows by state.
	States [len(sequence.States)]int64
	// UnknownStatus counts the rows in a state that there is not.
	UnknownStatus int64
	// Skipped are declared and have no row.
	Skipped     int64
	Unaccounted int64
	// Gaps are those of them that were issued, or declared a gap, and are not in business use nor with a caller.
	Gaps int64
	// RetiredReasons counts the retired numbers by why, the most first; at most MaxReasons, and an empty one for the rest.
	RetiredReasons []ReasonCount
}

// MaxReasons bounds the reasons that a report counts.
const MaxReasons = 50

// ReasonCount is how many numbers were retired for one reason.
type ReasonCount struct {
	Reason string
	Count  int64
}

// Values is how many values were audited.
func (r AuditReport) Values() int64 { return r.To - r.From + 1 }

// Sum is what the classes add up to. It equals Values.
func (r AuditReport) Sum() int64 {
	sum := r.UnknownStatus + r.Skipped + r.Unaccounted
	for _, n := range r.States {
		sum += n
	}
	return sum
}

func (a *auditor) report(s scope) (AuditReport, error) {
	b, err := a.bounds(s)
	if err != nil {
		return AuditReport{}, err
	}
	r := AuditReport{BizType: s.bizType, Period: s.period, Cursor: b.cursor.Int64, HasCursor: b.cursor.Valid, From: a.filter.from(b.first())}
	r.To = r.From - 1
	if !b.start.Valid {
		a.find(FindingNoBizType, s, b.first(), b.first(), "its numbers cannot be settled without rules: restore its row of t_seq_biz_type")
	}
	if !r.HasCursor {
		return r, a.stray(s, b, b.first()-1, FindingNoCursor, "the period has no cursor, the next allocation would begin at the start: restore its row of t_seq_cursor")
	}
	if r.Cursor < b.first()-1 {
		a.find(FindingCursorBelowStart, s, r.Cursor, b.first()-1, fmt.Sprintf("the cursor is at %d, the values begin at %d: the cursor went back, or was never set; issue nothing before it is raised", r.Cursor, b.first()))
	}
	r.To = max(r.To, a.filter.to(r.Cursor))
	w := a.walk(s, b)
	w.report = &r
	for _, part := range b.stretches(r.From, r.To) {
		if err := w.stretch(part); err != nil {
			return r, err
		}
	}
	r.RetiredReasons = mostFirst(w.reasons)
	if r.Sum() != r.Values() {
		a.find(FindingSumDiffers, s, r.From, r.To, fmt.Sprintf("the classes add up to %d, the values to %d: check the tables of the database (CHECK TABLE t_seq_issue_log)", r.Sum(), r.Values()))
	}
	return r, a.stray(s, b, r.Cursor, FindingAboveCursor, "above the cursor, which will give these values again: the cursor went back; issue nothing before it is raised")
}

// stray finds the rows and the skips above a value, which should not be there.
func (a *auditor) stray(s scope, b bounds, above int64, kind FindingKind, words string) error {
	if above == math.MaxInt64 {
		return nil
	}
	from, to := a.filter.from(above+1), a.filter.to(math.MaxInt64)
	w := a.walk(s, b)
	err := w.chunks(from, to, func(c chunk) error {
		return w.runs(c, func(lo, hi int64) { a.find(kind, s, lo, hi, "rows "+words) })
	})
	for _, k := range b.skips {
		if lo, hi := max(k.lo, from), min(k.hi, to); lo <= hi {
			a.find(kind, s, lo, hi, "a declared skip "+words)
		}
	}
	return err
}

// mostFirst orders reasons by how often they occur, and adds up those that are too many.
func mostFirst(reasons map[string]int64) []ReasonCount {
	all := make([]ReasonCount, 0, len(reasons))
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		all = append(all, ReasonCount{reason, reasons[reason]})
	}
	slices.SortStableFunc(all, func(a, b ReasonCount) int {
		return cmp.Compare(b.Count, a.Count)
	})
	if len(all) <= MaxReasons {
		return all
	}
	var rest ReasonCount
	for _, r := range all[MaxReasons:] {
		rest.Count += r.Count
	}
	return append(all[:MaxReasons], rest)
}
