package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	lockCursor     = `SELECT value FROM t_seq_cursor WHERE biz_type = ? AND period = ? FOR UPDATE`
	insertCursor   = `INSERT INTO t_seq_cursor (biz_type, period, value, start_value) VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE value = value`
	moveCursor     = `UPDATE t_seq_cursor SET value = ? WHERE biz_type = ? AND period = ? AND value = ?`
	queryHasCursor = `SELECT EXISTS (SELECT 1 FROM t_seq_cursor WHERE biz_type = ?)`
	queryPosition  = `SELECT b.source, COALESCE(c.value, b.start - 1) FROM t_seq_biz_type b
		LEFT JOIN t_seq_cursor c ON c.biz_type = b.name AND c.period = '' WHERE b.name = ?`
)

// cursor is the highest value allocated in a period, locked until its transaction ends.
type cursor struct {
	bizType, period string
	value           int64
}

// lockOrMakeCursor locks the cursor of the period that runs now. Its first allocation makes it,
// under the lock of the biz type: a change of the format, the source or the start then sees either no
// number or waits for this one. It gives the rules that hold under the lock, and the database's time.
func lockOrMakeCursor(ctx context.Context, tx *sql.Tx, bizType string) (c cursor, b sequence.BizType, now time.Time, err error) {
	rules, now, err := rulesAndNow(ctx, tx, []string{bizType})
	if err != nil {
		return c, b, now, err
	}
	b, ok := rules[bizType]
	if !ok {
		return c, b, now, fmt.Errorf("biz type %s: %w", bizType, sequence.ErrNotFound)
	}
	c = cursor{bizType: bizType, period: b.Period(now)}
	err = tx.QueryRowContext(ctx, lockCursor, bizType, c.period).Scan(&c.value)
	if errors.Is(err, sql.ErrNoRows) {
		if b, err = scanBizType(tx.QueryRowContext(ctx, lockBizType, bizType), &now); err != nil {
			return c, b, now, fmt.Errorf("lock biz type %s: %w", bizType, err)
		}
		c.period = b.Period(now)
		if _, err = tx.ExecContext(ctx, insertCursor, bizType, c.period, b.Start-1, b.Start); err != nil {
			return c, b, now, fmt.Errorf("make the cursor: %w", err)
		}
		err = tx.QueryRowContext(ctx, lockCursor, bizType, c.period).Scan(&c.value)
	}
	if err != nil {
		return c, b, now, fmt.Errorf("lock the cursor: %w", err)
	}
	return c, b, now, nil
}

// move takes the cursor up to hi. It never goes back: hi is above it, and the guard says from where.
func (c cursor) move(ctx context.Context, tx *sql.Tx, hi int64) error {
	result, err := tx.ExecContext(ctx, moveCursor, hi, c.bizType, c.period, c.value)
	if err != nil {
		return fmt.Errorf("move the cursor: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("move the cursor from %d to %d: %w", c.value, hi, errGuardMissed)
	}
	return nil
}
