package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	lockCursor       = `SELECT value FROM t_seq_cursor WHERE biz_type = ? AND period = '' FOR UPDATE`
	moveCursor       = `UPDATE t_seq_cursor SET value = ? WHERE biz_type = ? AND period = '' AND value = ?`
	insertReserved   = `INSERT INTO t_seq_issue_log (biz_type, seq_no, value, batch_id, status, owner) VALUES `
	queryHeldOfBatch = `SELECT ` + numberColumns + ` FROM t_seq_issue_log WHERE status IN (0, 5) AND batch_id = ? ORDER BY value`
)

// Allocate moves the biz type's cursor up by count, 1 to sequence.MaxStep, and inserts the values
// as RESERVED numbers of the owner, all in one transaction. Close to the end of the format it
// gives fewer numbers, and at the end sequence.ErrFull. batchID is new with every call; by it
// Allocate finds out what it did where the answer to its COMMIT was lost.
func (l *Ledger) Allocate(ctx context.Context, bizType, owner, batchID string, count int) ([]sequence.Number, error) {
	var block []sequence.Number
	err := l.inTx(ctx, func(tx *sql.Tx) (err error) {
		block, err = allocate(ctx, tx, bizType, owner, batchID, count)
		return err
	})
	if errors.Is(err, errCommitUnknown) {
		held, readErr := l.Held(ctx, batchID)
		switch {
		case readErr != nil:
			err = errors.Join(err, readErr)
		case len(held) > 0:
			block, err = held, nil
		}
	}
	if err != nil {
		return nil, classify(fmt.Sprintf("allocate %d numbers of %s", count, bizType), err)
	}
	return block, nil
}

// Held reads the numbers of an allocation or a claim that stand in its owner's name. It is how an
// owner finds out what a call did whose answer was lost.
func (l *Ledger) Held(ctx context.Context, batchID string) ([]sequence.Number, error) {
	held, err := scanNumbers(l.db.QueryContext(ctx, queryHeldOfBatch, batchID))
	return held, classify("read what batch "+batchID+" holds", err)
}

func allocate(ctx context.Context, tx *sql.Tx, bizType, owner, batchID string, count int) ([]sequence.Number, error) {
	if err := lockIssuer(ctx, tx, owner); err != nil {
		return nil, err
	}
	var cursor int64
	err := tx.QueryRowContext(ctx, lockCursor, bizType).Scan(&cursor)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("biz type %s: %w", bizType, sequence.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the cursor: %w", err)
	}
	rules, _, err := rulesAndNow(ctx, tx, []string{bizType})
	if err != nil {
		return nil, err
	}
	format := rules[bizType].Format
	lo, hi := cursor+1, min(cursor+int64(count), format.Max())
	if lo > hi {
		return nil, fmt.Errorf("biz type %s: %s is used up to %d: %w", bizType, format, cursor, sequence.ErrFull)
	}
	block := make([]sequence.Number, 0, hi-lo+1)
	for value := lo; value <= hi; value++ {
		block = append(block, sequence.Number{
			BizType: bizType, SeqNo: format.Print(value), Value: value, BatchID: batchID, State: sequence.Reserved, Owner: owner,
		})
	}
	if err := insertBlock(ctx, tx, block); err != nil {
		return nil, err
	}
	result, err := tx.ExecContext(ctx, moveCursor, hi, bizType, cursor)
	if err != nil {
		return nil, fmt.Errorf("move the cursor: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return nil, fmt.Errorf("move the cursor from %d to %d: %w", cursor, hi, errGuardMissed)
	}
	return block, nil
}

func insertBlock(ctx context.Context, tx *sql.Tx, block []sequence.Number) error {
	for len(block) > 0 {
		n := min(len(block), MaxBatch)
		args := make([]any, 0, 6*n)
		for _, number := range block[:n] {
			args = append(args, number.BizType, number.SeqNo, number.Value, number.BatchID, number.State, number.Owner)
		}
		query := insertReserved + strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,?),", n), ",")
		if _, err := tx.ExecContext(ctx, query, args...); err != nil {
			return fmt.Errorf("insert %d numbers from %s: %w", n, block[0].SeqNo, err)
		}
		block = block[n:]
	}
	return nil
}
