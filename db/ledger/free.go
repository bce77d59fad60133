package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// There are few free numbers among those of a biz type, so they are read by their state, in the order of the index.
const (
	queryFree = `SELECT ` + numberColumns + ` FROM t_seq_issue_log FORCE INDEX (idx_status_deadline)
		WHERE status = ? AND deadline <= ? AND (deadline > ? OR deadline = ? AND id > ?)`
	queryNumbers         = `SELECT ` + numberColumns + ` FROM t_seq_issue_log FORCE INDEX (uk_biz_seq) WHERE biz_type = ? AND seq_no IN (`
	queryArchivedNumbers = `SELECT ` + numberColumns + ` FROM t_seq_archive FORCE INDEX (uk_biz_seq) WHERE biz_type = ? AND seq_no IN (`
	queryPeriods         = `SELECT period FROM t_seq_cursor WHERE biz_type = ? ORDER BY period`
)

// Free reads at most limit numbers that are free (REPLAYABLE), of the biz type or of all where it is empty, by the
// order of deadline and id, after the given one; the zero Number begins at the start. Those whose deadline
// is after until are left out: a deadline only moves on, so a scan up to PoolCheckAfter from its beginning
// ends, and sees no number twice.
func (l *Ledger) Free(ctx context.Context, bizType string, after sequence.Number, until time.Time, limit int) ([]sequence.Number, error) {
	from := after.Deadline
	if from.IsZero() {
		from = time.Unix(0, 0).UTC()
	}
	query, args := queryFree, []any{sequence.Replayable, until, from, from, after.ID}
	if bizType != "" {
		query, args = query+" AND biz_type = ?", append(args, bizType)
	}
	numbers, err := scanNumbers(l.db.QueryContext(ctx, query+" ORDER BY deadline, id LIMIT ?", append(args, limit)...))
	return numbers, classify("read the free numbers", err)
}

// Numbers reads those of the numbers, at most MaxBatch, that have a row, in the log or in the archive, without a lock and in
// any order.
func (l *Ledger) Numbers(ctx context.Context, bizType string, seqNos []string) ([]sequence.Number, error) {
	if len(seqNos) == 0 {
		return nil, nil
	}
	args := make([]any, 0, len(seqNos)+1)
	args = append(args, bizType)
	for _, s := range seqNos {
		args = append(args, s)
	}
	numbers, err := scanNumbers(l.db.QueryContext(ctx, queryNumbers+placeholders(len(seqNos))+")", args...))
	if err != nil || len(numbers) == len(seqNos) {
		return numbers, classify("read numbers of "+bizType, err)
	}
	// A number that is archived in between is found here: the archive is read last. One that was found is there once.
	archived, err := scanNumbers(l.db.QueryContext(ctx, queryArchivedNumbers+placeholders(len(seqNos))+")", args...))
	for _, n := range archived {
		if !slices.ContainsFunc(numbers, func(m sequence.Number) bool { return m.ID == n.ID }) {
			numbers = append(numbers, n)
		}
	}
	return numbers, classify("read numbers of "+bizType, err)
}

// Periods reads the periods in which numbers of the biz type were allocated, in their order; "" is that of a format
// without a date.
func (l *Ledger) Periods(ctx context.Context, bizType string) ([]string, error) {
	rows, err := l.db.QueryContext(ctx, queryPeriods, bizType)
	periods, err := collect(rows, err, func(row row) (period string, err error) { return period, row.Scan(&period) })
	return periods, classify("read the periods of "+bizType, err)
}
