package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	// The lowest value is where an audit begins: at the start of the period, or below it.
	queryUnblocked = `SELECT c.biz_type, c.period, c.value, f.next_lo, LEAST(COALESCE(c.first_value, b.start),
			COALESCE((SELECT MIN(n.value) FROM t_seq_issue_log n FORCE INDEX (uk_value) WHERE n.biz_type = c.biz_type AND n.period = c.period), b.start),
			COALESCE((SELECT MIN(k.lo) FROM t_seq_skip k WHERE k.biz_type = c.biz_type AND k.period = c.period), b.start))
		FROM t_seq_cursor c JOIN t_seq_biz_type b ON b.name = c.biz_type
		LEFT JOIN t_seq_seal_frontier f ON f.biz_type = c.biz_type AND f.period = c.period
		WHERE f.next_lo IS NULL OR f.next_lo <= c.value ORDER BY c.biz_type, c.period`
	// A skip that a block would end in is not cut.
	querySkipEnd = `SELECT COALESCE(MAX(hi), ?) FROM t_seq_skip WHERE biz_type = ? AND period = ? AND lo <= ? AND hi > ?`
	makeFrontier = `INSERT INTO t_seq_seal_frontier (biz_type, period, lo, next_lo) VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE lo = lo`
	lockFrontier = `SELECT next_lo FROM t_seq_seal_frontier WHERE biz_type = ? AND period = ? FOR UPDATE`
	moveFrontier = `UPDATE t_seq_seal_frontier SET next_lo = ? WHERE biz_type = ? AND period = ?`
	insertOpen   = `INSERT INTO t_seq_seal_open (biz_type, period, lo, hi, look_time) VALUES (?, ?, ?, ?, UTC_TIMESTAMP(6))`
)

// unblocked is a period with values that no block was made of yet.
type unblocked struct {
	bizType, period string
	cursor          int64
	next            sql.NullInt64
	lowest          int64
}

// OpenBlocks makes blocks, at most limit, of the values that have been allocated since it last did, and counts
// them: each is sequence.SealBlock values, and what is left of a period once that has been over for
// sequence.SealPause. They are sealed, in any order, when their numbers are final.
func (l *Ledger) OpenBlocks(ctx context.Context, limit int) (int, error) {
	opened, err := l.openBlocks(ctx, limit)
	return opened, classify("look for blocks to seal", err)
}

func (l *Ledger) openBlocks(ctx context.Context, limit int) (opened int, err error) {
	rules, now, err := l.rulesByName(ctx)
	if err != nil {
		return 0, err
	}
	rows, err := l.db.QueryContext(ctx, queryUnblocked)
	scopes, err := collect(rows, err, func(row row) (u unblocked, err error) {
		err = row.Scan(&u.bizType, &u.period, &u.cursor, &u.next, &u.lowest)
		return u, err
	})
	if err != nil {
		return 0, err
	}
	for _, u := range scopes {
		b, ok := rules[u.bizType]
		if !ok {
			continue
		}
		least := int64(sequence.SealBlock)
		if u.period != b.Period(now) && u.period != b.Period(now.Add(-sequence.SealPause)) {
			least = 1
		}
		if opened == limit {
			break
		}
		n, err := l.openBlocksOf(ctx, u, least, limit-opened)
		if opened += n; err != nil {
			return opened, err
		}
	}
	return opened, nil
}

func (l *Ledger) rulesByName(ctx context.Context) (map[string]sequence.BizType, time.Time, error) {
	types, err := l.BizTypes(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	now, err := l.Now(ctx)
	rules := make(map[string]sequence.BizType, len(types))
	for _, b := range types {
		rules[b.Name] = b
	}
	return rules, now, err
}

// openBlocksOf makes blocks of one period; none has fewer values than least.
func (l *Ledger) openBlocksOf(ctx context.Context, u unblocked, least int64, limit int) (opened int, err error) {
	next := u.lowest
	if u.next.Valid {
		next = u.next.Int64
	}
	if u.cursor-next+1 < least {
		return 0, nil
	}
	err = l.inTx(ctx, func(tx *sql.Tx) error {
		opened = 0
		if _, err := tx.ExecContext(ctx, makeFrontier, u.bizType, u.period, next, next); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, lockFrontier, u.bizType, u.period).Scan(&next); err != nil {
			return err
		}
		for ; opened < limit && u.cursor-next+1 >= least; opened++ {
			hi := min(u.cursor, next+sequence.SealBlock-1)
			if err := tx.QueryRowContext(ctx, querySkipEnd, hi, u.bizType, u.period, hi, hi).Scan(&hi); err != nil {
				return err
			}
			if hi > u.cursor { // a skip above the cursor is a finding of the audit
				break
			}
			if _, err := tx.ExecContext(ctx, insertOpen, u.bizType, u.period, next, hi); err != nil {
				return err
			}
			next = hi + 1
		}
		_, err := tx.ExecContext(ctx, moveFrontier, next, u.bizType, u.period)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("make blocks of %s %s from %d: %w", u.bizType, u.period, next, err)
	}
	return opened, nil
}
