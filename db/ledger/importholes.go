package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/lacuna-seq/lacuna/sequence"
)

const insertSkips = `INSERT INTO t_seq_skip (biz_type, period, lo, hi, reason, declared_time) VALUES `

// hole is consecutive values of a period.
type hole struct {
	period string
	span
}

func (h hole) width() int64 { return h.hi - h.lo + 1 }

// closeHoles accounts for the values that the source does not name, as the operator said.
func (r *importer) closeHoles(ctx context.Context) error {
	closeBatch, total := r.declare, r.report.HoleCount()
	if r.Holes == HolesPool {
		closeBatch = r.pool
	}
	var batch []hole
	var size int64
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		var values int64
		for _, h := range batch {
			values += h.width()
		}
		if err := r.step(ctx, importRecord{closed: values}, func(tx *sql.Tx) error { return closeBatch(ctx, tx, batch) }); err != nil {
			return err
		}
		r.report.Closed += values
		r.Progress(ImportProgress{Step: "closed", Done: r.report.Closed, Total: total})
		batch, size = batch[:0], 0
		return nil
	}
	for _, p := range r.inOrder() {
		for _, h := range p.holes {
			for left := (hole{p.name, h}); left.width() > 0; {
				part, cost := left, int64(1) // a row each
				if r.Holes == HolesPool {
					part.hi = min(left.hi, left.lo+MaxBatch-size-1)
					cost = part.width()
				}
				batch, size, left.lo = append(batch, part), size+cost, part.hi+1
				if size == MaxBatch {
					if err := flush(); err != nil {
						return err
					}
				}
			}
		}
	}
	return flush()
}

// declare writes a skip for each hole.
func (r *importer) declare(ctx context.Context, tx *sql.Tx, holes []hole) error {
	args := make([]any, 0, 5*len(holes))
	for _, h := range holes {
		args = append(args, r.BizType, h.period, h.lo, h.hi, r.Reason)
	}
	rows := strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, UTC_TIMESTAMP(6)),", len(holes)), ",")
	if _, err := tx.ExecContext(ctx, insertSkips+rows, args...); err != nil {
		return fmt.Errorf("declare %d holes from %d on: %w", len(holes), holes[0].lo, err)
	}
	return nil
}

// pool makes a free number that was never handed out of each value.
func (r *importer) pool(ctx context.Context, tx *sql.Tx, holes []hole) error {
	rules, now, err := rulesAndNow(ctx, tx, []string{r.BizType})
	if err != nil {
		return err
	}
	var free []sequence.Number
	for _, h := range holes {
		for value := h.lo; value <= h.hi; value++ {
			free = append(free, sequence.Number{
				BizType: r.BizType, Period: h.period, SeqNo: rules[r.BizType].Format.Print(h.period, value), Value: value,
				BatchID: holesBatchID(r.batchID), State: sequence.Replayable, Deadline: now, Reason: r.Reason,
			})
		}
	}
	return insertNumbers(ctx, tx, free)
}
