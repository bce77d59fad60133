package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lacuna-seq/lacuna/sequence"
)

// What t_seq_import says of an import.
const (
	importRunning = "RUNNING"
	importDone    = "DONE"
)

const (
	queryImport   = `SELECT state, runner, position, holes_closed FROM t_seq_import WHERE batch_id = ?`
	lockImport    = queryImport + ` FOR UPDATE`
	queryOtherRun = `SELECT source FROM t_seq_import WHERE biz_type = ? AND state = 'RUNNING' AND batch_id <> ? LIMIT 1`
	insertImport  = `INSERT INTO t_seq_import (batch_id, biz_type, source, holes, state, runner, numbers, position, started_time, changed_time)
		VALUES (?, ?, ?, ?, 'RUNNING', ?, ?, ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))`
	takeImport = `UPDATE t_seq_import SET source = ?, holes = ?, state = 'RUNNING', runner = ?, numbers = ?, position = ?,
		changed_time = UTC_TIMESTAMP(6), finished_time = NULL WHERE batch_id = ?`
	moveImport        = `UPDATE t_seq_import SET position = ?, holes_closed = ?, changed_time = UTC_TIMESTAMP(6) WHERE batch_id = ?`
	endImport         = `UPDATE t_seq_import SET state = 'DONE', changed_time = UTC_TIMESTAMP(6), finished_time = UTC_TIMESTAMP(6) WHERE batch_id = ? AND runner = ?`
	queryImportRanges = `SELECT period, lo, hi FROM t_seq_import_range WHERE batch_id = ? ORDER BY period, lo`
	insertImportRange = `INSERT INTO t_seq_import_range (batch_id, period, lo, hi) VALUES (?, ?, ?, ?)`
)

// maxImportSource bounds how much of a source's name is kept, in characters.
const maxImportSource = 255

// importRecord is an import's row; its state is "" where there is none.
type importRecord struct {
	state, runner string
	position      int64 // numbers of the source that stand in the ledger
	closed        int64 // values that were pooled or declared
}

// querier is a transaction, or what reads outside of one.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func readImport(ctx context.Context, from querier, query, batchID string) (c importRecord, err error) {
	err = from.QueryRowContext(ctx, query, batchID).Scan(&c.state, &c.runner, &c.position, &c.closed)
	if errors.Is(err, sql.ErrNoRows) {
		return c, nil
	}
	return c, err
}

// refuseOtherImport makes sure that no other import of the biz type is under way.
func refuseOtherImport(ctx context.Context, from querier, bizType, batchID string) error {
	var source string
	err := from.QueryRowContext(ctx, queryOtherRun, bizType, batchID).Scan(&source)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return sequence.Invalidf("source", "an import of %s into %s is under way: end that one first, by importing it again as it was", source, bizType)
}

// errOtherRunner is an import that another process has taken.
var errOtherRunner = sequence.Invalidf("source", "another process goes on with this import: leave it to that one, or stop it and import again")

// step is one transaction of an import that is under way, of the process that took it last. done says how far
// the record goes on with it, by which a repetition after a COMMIT whose answer was lost sees whether it
// happened: its lock waits for that COMMIT.
func (r *importer) step(ctx context.Context, done importRecord, do func(*sql.Tx) error) error {
	next := importRecord{position: r.record.position + done.position, closed: r.record.closed + done.closed}
	run := func(tx *sql.Tx) error {
		c, err := readImport(ctx, tx, lockImport, r.batchID)
		switch {
		case err != nil:
			return err
		case c.runner != r.runner || c.state != importRunning:
			return errOtherRunner
		case c.position == next.position && c.closed == next.closed:
			return nil
		case c.position != r.record.position || c.closed != r.record.closed:
			return fmt.Errorf("the record of the import is at %d numbers and %d holes, and not at %d and %d", c.position, c.closed, r.record.position, r.record.closed)
		}
		if err := do(tx); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, moveImport, next.position, next.closed, r.batchID)
		return err
	}
	if err := r.untilKnown(ctx, func() error { return r.ledger.inTx(ctx, run) }); err != nil {
		return err
	}
	r.record.position, r.record.closed = next.position, next.closed
	return nil
}

// untilKnown repeats what can be repeated while the answer to its COMMIT is lost.
func (r *importer) untilKnown(ctx context.Context, do func() error) error {
	err := do()
	for try := 1; errors.Is(err, errCommitUnknown) && ctx.Err() == nil && try < maxImportTries; try++ {
		err = do()
	}
	return err
}

// end marks the import as done: every value up to its cursors is accounted for.
func (r *importer) end(ctx context.Context) error {
	err := r.untilKnown(ctx, func() error {
		n, err := r.ledger.exec(ctx, endImport, r.batchID, r.runner)
		if err == nil && n == 0 {
			return errOtherRunner
		}
		return err
	})
	r.report.Done = err == nil
	return err
}
