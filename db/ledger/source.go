package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/lacuna-seq/lacuna/sequence"
)

// source gives the values of one block. Whatever it says, a block is real only once its rows stand
// above the cursor.
type source interface {
	// values gives count consecutive values, from lo to hi, while the cursor is locked by tx. They
	// may lie anywhere; the caller checks them against the cursor.
	values(ctx context.Context, tx *sql.Tx, at cursor, count int) (lo, hi int64, err error)
}

// Counter gives blocks of values from outside the ledger, for biz types of the source REDIS.
type Counter interface {
	// Take gives count consecutive values, from lo on, which no other call gives: all above floor,
	// to which the counter is raised where it is lower. It never goes back. The error is a
	// sequence.UnavailableError; the values may have been taken all the same.
	Take(ctx context.Context, bizType string, floor int64, count int) (lo int64, err error)
	// Last gives the highest value that was taken; 0 where the biz type has no counter, or it was lost. The error is a
	// sequence.UnavailableError.
	Last(ctx context.Context, bizType string) (int64, error)
}

// segment takes what comes next on the cursor.
type segment struct{}

func (segment) values(_ context.Context, _ *sql.Tx, at cursor, count int) (lo, hi int64, err error) {
	return at.value + 1, at.value + int64(count), nil
}

// counted is a block that a counter gave before the cursor was locked: nobody waits for another
// server under a lock.
type counted struct{ lo, hi int64 }

func (c counted) values(context.Context, *sql.Tx, cursor, int) (lo, hi int64, err error) {
	return c.lo, c.hi, nil
}

// autoinc takes ids of a table with AUTO_INCREMENT, one table a biz type. The rows are deleted in the
// transaction that made them: the counter, which the server keeps through restarts, is all that stays.
type autoinc struct{}

// A biz type's name is of [A-Z0-9_] only, and needs no quoting.
func autoincTable(bizType string) string { return "t_seq_autoinc_" + bizType }

func makeAutoincTable(bizType string) string {
	return "CREATE TABLE IF NOT EXISTS " + autoincTable(bizType) + " (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE = InnoDB"
}

func (autoinc) values(ctx context.Context, tx *sql.Tx, at cursor, count int) (lo, hi int64, err error) {
	table := autoincTable(at.bizType)
	if at.value > 0 {
		// The table may be new, or its counter lost: an id that is given raises it, and only upwards.
		if _, err := tx.ExecContext(ctx, "INSERT INTO "+table+" (id) VALUES (?)", at.value); err != nil {
			return 0, 0, fmt.Errorf("raise %s to %d: %w", table, at.value, err)
		}
	}
	result, err := tx.ExecContext(ctx, "INSERT INTO "+table+" (id) VALUES "+strings.TrimSuffix(strings.Repeat("(NULL),", count), ","))
	if err != nil {
		return 0, 0, fmt.Errorf("take %d ids of %s: %w", count, table, err)
	}
	if lo, err = result.LastInsertId(); err != nil {
		return 0, 0, err
	}
	hi = lo + int64(count) - 1
	if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE id <= ?", hi); err != nil {
		return 0, 0, fmt.Errorf("clear %s: %w", table, err)
	}
	return lo, hi, nil
}

// ahead asks what must be asked before the cursor is locked: the counter of a REDIS type. While the
// counter is away the block comes off the cursor.
func (l *Ledger) ahead(ctx context.Context, bizType string, count int) (source, error) {
	if l.counter == nil {
		return nil, nil
	}
	var name string
	var position int64
	err := l.db.QueryRowContext(ctx, queryPosition, bizType).Scan(&name, &position)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("biz type %s: %w", bizType, sequence.ErrNotFound)
	}
	if err != nil || name != sequence.SourceRedis.String() {
		return nil, err
	}
	lo, err := l.counter.Take(ctx, bizType, position, count)
	if err != nil {
		l.log.WarnContext(ctx, "the counter is away; the block comes off the cursor", "biz_type", bizType, "error", err)
		return nil, nil
	}
	return counted{lo: lo, hi: lo + int64(count) - 1}, nil
}

// sourceOf is where a block of the biz type comes from: what was asked ahead, if it is still asked for.
func sourceOf(b sequence.BizType, ahead source) source {
	switch b.Source {
	case sequence.SourceAutoinc:
		return autoinc{}
	case sequence.SourceRedis:
		if ahead != nil {
			return ahead
		}
		return segment{}
	case sequence.SourceSegment:
	}
	return segment{}
}
