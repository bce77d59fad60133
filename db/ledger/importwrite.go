package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

const insertImported = `INSERT INTO t_seq_issue_log (biz_type, period, seq_no, value, life, replays, batch_id, status, biz_key,
	issued_time, confirmed_time, abandoned_time, deadline, reason) VALUES `

// begin writes the import down and raises the cursors. From its commit on no value that the source names can
// be issued. It is errMovedMeanwhile where the ledger is not as it was when the source was read.
func (r *importer) begin(ctx context.Context) error {
	err := r.ledger.inTx(ctx, func(tx *sql.Tx) error {
		// The biz type's lock lets imports of it begin one at a time, and keeps its format as it is.
		var now time.Time
		rules, err := scanBizType(tx.QueryRowContext(ctx, lockBizType, r.BizType), &now)
		if err != nil {
			return fmt.Errorf("lock biz type %s: %w", r.BizType, err)
		}
		if rules.Format.String() != r.rules.Format.String() || rules.Start != r.rules.Start {
			return fmt.Errorf("the format or the start of %s was changed: %w", r.BizType, errMovedMeanwhile)
		}
		if err := refuseOtherImport(ctx, tx, r.BizType, r.batchID); err != nil {
			return err
		}
		c, err := readImport(ctx, tx, lockImport, r.batchID)
		if err != nil {
			return err
		}
		if c != r.record {
			return fmt.Errorf("another process went on with the import: %w", errMovedMeanwhile)
		}
		if err := r.take(ctx, tx); err != nil {
			return err
		}
		for _, p := range r.inOrder() {
			if p.n == 0 {
				continue
			}
			if err := r.raise(ctx, tx, p); err != nil {
				return err
			}
		}
		return nil
	})
	r.reportPeriods()
	return err
}

// take makes the import this process's.
func (r *importer) take(ctx context.Context, tx *sql.Tx) (err error) {
	source := []rune(r.Source.Name())
	name := string(source[:min(len(source), maxImportSource)])
	if r.record.state == "" {
		_, err = tx.ExecContext(ctx, insertImport, r.batchID, r.BizType, name, string(r.Holes), r.runner, r.report.Numbers, r.report.Known)
	} else {
		_, err = tx.ExecContext(ctx, takeImport, name, string(r.Holes), r.runner, r.report.Numbers, r.report.Known, r.batchID)
	}
	return err
}

// raise takes a cursor up to the highest value of the source, and writes down for which values.
func (r *importer) raise(ctx context.Context, tx *sql.Tx, p *importPeriod) error {
	c := cursor{bizType: r.BizType, period: p.name}
	err := tx.QueryRowContext(ctx, lockCursor, r.BizType, p.name).Scan(&c.value)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err = tx.ExecContext(ctx, insertCursor, r.BizType, p.name, r.rules.Start-1, r.rules.Start); err != nil {
			return fmt.Errorf("make the cursor of period %q: %w", p.name, err)
		}
		err = tx.QueryRowContext(ctx, lockCursor, r.BizType, p.name).Scan(&c.value)
	}
	if err != nil {
		return fmt.Errorf("lock the cursor of period %q: %w", p.name, err)
	}
	if c.value < p.cursor || p.seen.any(p.cursor+1, c.value) {
		return fmt.Errorf("the cursor of period %q went from %d to %d: %w", p.name, p.cursor, c.value, errMovedMeanwhile)
	}
	// What was issued in between is no hole any more.
	p.holes, p.cursor = without(p.holes, []span{{p.cursor + 1, c.value}}), c.value
	if p.hi <= c.value {
		return nil
	}
	if _, err := tx.ExecContext(ctx, insertImportRange, r.batchID, p.name, c.value+1, p.hi); err != nil {
		return fmt.Errorf("write down what the cursor is raised for: %w", err)
	}
	return c.move(ctx, tx, p.hi)
}

// write reads the source again and inserts what does not stand in the ledger.
func (r *importer) write(ctx context.Context) error {
	r.record = importRecord{state: importRunning, runner: r.runner, position: r.report.Known, closed: r.record.closed}
	if r.report.Known == r.report.Numbers {
		return nil
	}
	batch := make([]sequence.Imported, 0, MaxBatch)
	err := r.Source.Read(ctx, func(line ImportLine) error {
		// Not where the time goes: a batch ends with the context too.
		missing, err := r.missing(line)
		if missing {
			batch = append(batch, line.Number)
		}
		if err == nil && len(batch) == MaxBatch {
			err = r.writeBatch(ctx, batch)
			batch = batch[:0]
		}
		return err
	})
	if err == nil {
		err = r.writeBatch(ctx, batch)
	}
	if err == nil && r.record.position != r.report.Numbers {
		err = r.changed("names %d numbers that it did not name at first", r.report.Numbers-r.record.position)
	}
	return err
}

// missing reports whether the number of a line is to be inserted. Each is at most once.
func (r *importer) missing(line ImportLine) (bool, error) {
	if line.Fault != nil {
		return false, r.changed("line %d: %s", line.Line, line.Fault)
	}
	period, value, err := r.rules.Format.Parse(line.Number.SeqNo)
	if err != nil {
		return false, r.changed("%s", err)
	}
	p := r.period(period)
	if !p.seen.has(value) {
		return false, r.changed("it did not name %s at first", line.Number.SeqNo)
	}
	return p.known.add(value), nil
}

func (r *importer) changed(what string, args ...any) error {
	return sequence.Invalidf("source", "%s was changed while it was imported, %s: let nobody write to it, and import it again", r.Source.Name(), fmt.Sprintf(what, args...))
}

func (r *importer) writeBatch(ctx context.Context, batch []sequence.Imported) error {
	if len(batch) == 0 {
		return nil
	}
	err := r.step(ctx, importRecord{position: int64(len(batch))}, func(tx *sql.Tx) error {
		// The rules of now, and windows and timeouts from now on.
		rules, now, err := rulesAndNow(ctx, tx, []string{r.BizType})
		if err != nil {
			return err
		}
		args := make([]any, 0, 14*len(batch))
		for _, in := range batch {
			n, err := rules[r.BizType].Import(in, now)
			if err != nil {
				return r.changed("%s: %s", in.SeqNo, err)
			}
			args = append(args, n.BizType, n.Period, n.SeqNo, n.Value, n.Life, n.Replays, r.batchID, n.State, n.BizKey,
				null(n.IssuedTime), null(n.ConfirmedTime), null(n.AbandonedTime), null(n.Deadline), n.Reason)
		}
		if _, err := tx.ExecContext(ctx, insertImported+tuples(len(batch), 14), args...); err != nil {
			return fmt.Errorf("insert %d numbers from %s: %w", len(batch), batch[0].SeqNo, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.report.Imported += int64(len(batch))
	r.Progress(ImportProgress{Step: "imported", Done: r.record.position, Total: r.report.Numbers})
	return nil
}
