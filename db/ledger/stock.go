package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// How often the states are counted: at most once in stockEvery, and so that counting is at most a twentieth of the
// time, in all processes together.
const (
	stockEvery   = 10 * time.Second
	stockShare   = 20
	stockTimeout = 2 * time.Minute
)

const (
	claimStock = `UPDATE t_seq_stock_count SET taken_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
		WHERE id = 1 AND next_time <= UTC_TIMESTAMP(6) AND taken_until <= UTC_TIMESTAMP(6)`
	releaseStock = `UPDATE t_seq_stock_count SET counted_time = COALESCE(?, counted_time), next_time = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
		taken_until = UTC_TIMESTAMP(6) WHERE id = 1`
	deleteStock = `DELETE FROM t_seq_stock`
	insertStock = `INSERT INTO t_seq_stock (biz_type, status, count) VALUES `

	// A seal tells of 10,000 numbers at once. An amendment is one of them that was confirmed after it had been retired.
	querySealedStock = `SELECT biz_type, SUM(confirmed) + SUM(kind = 'AMENDMENT'), SUM(retired) - SUM(kind = 'AMENDMENT') FROM t_seq_seal GROUP BY biz_type`
	// What is not sealed: the open blocks, and what no block was made of yet.
	queryUnsealed = `SELECT biz_type, period, lo, hi FROM t_seq_seal_open UNION ALL
		SELECT c.biz_type, c.period, COALESCE(f.next_lo, -1), c.value FROM t_seq_cursor c
		LEFT JOIN t_seq_seal_frontier f ON f.biz_type = c.biz_type AND f.period = c.period WHERE f.next_lo IS NULL OR f.next_lo <= c.value`
	queryRangeStock = `SELECT n.status, COUNT(*)` + fromRange + ` GROUP BY n.status`
)

// stockKey is a row of t_seq_stock.
type stockKey struct {
	bizType string
	state   sequence.State
}

// CountStock counts how many numbers stand in which state, and keeps it for Activity; false where others do, or have
// done so lately. It reads the seals, and of the rows only those of blocks that are not sealed, from one snapshot and
// without locks: some milliseconds, and some 15 for each open block.
func (l *Ledger) CountStock(ctx context.Context) (counted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, stockTimeout)
	defer cancel()
	n, err := l.exec(ctx, claimStock, stockTimeout.Microseconds())
	if err != nil || n == 0 {
		return false, classify("begin to count the states", err)
	}
	begun := time.Now()
	stock, at, err := l.readStock(ctx)
	pause := max(stockEvery, stockShare*time.Since(begun))
	if err != nil {
		pause = time.Minute
		stock, at = nil, sql.NullTime{}
	}
	if writeErr := l.writeStock(context.WithoutCancel(ctx), stock, at, pause); err == nil {
		err = writeErr
	}
	return err == nil, classify("count the states", err)
}

func (l *Ledger) readStock(ctx context.Context) (stock map[stockKey]int64, at sql.NullTime, err error) {
	stock = map[stockKey]int64{}
	err = l.inSnapshot(ctx, func(conn *sql.Conn) error {
		if err := conn.QueryRowContext(ctx, "SELECT UTC_TIMESTAMP(6)").Scan(&at); err != nil {
			return err
		}
		rows, err := conn.QueryContext(ctx, querySealedStock)
		_, err = collect(rows, err, func(row row) (none struct{}, err error) {
			var name string
			var confirmed, retired int64
			err = row.Scan(&name, &confirmed, &retired)
			stock[stockKey{name, sequence.Confirmed}] += confirmed
			stock[stockKey{name, sequence.Retired}] += retired
			return none, err
		})
		if err != nil {
			return err
		}
		rows, err = conn.QueryContext(ctx, queryUnsealed)
		ranges, err := collect(rows, err, func(row row) (b sequence.Block, err error) {
			return b, row.Scan(&b.BizType, &b.Period, &b.Lo, &b.Hi)
		})
		if err != nil {
			return err
		}
		for _, b := range ranges {
			rows, err := conn.QueryContext(ctx, queryRangeStock, b.BizType, b.Period, b.Lo, b.Hi)
			_, err = collect(rows, err, func(row row) (none struct{}, err error) {
				var state sequence.State
				var n int64
				err = row.Scan(&state, &n)
				stock[stockKey{b.BizType, state}] += n
				return none, err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return stock, at, err
}

// writeStock replaces what was counted before, unless nothing was counted, and says when it may be done again.
func (l *Ledger) writeStock(ctx context.Context, stock map[stockKey]int64, at sql.NullTime, pause time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, activityTimeout)
	defer cancel()
	return l.inTx(ctx, func(tx *sql.Tx) error {
		var args []any
		for k, n := range stock {
			if n != 0 {
				args = append(args, k.bizType, k.state, n)
			}
		}
		if at.Valid {
			if _, err := tx.ExecContext(ctx, deleteStock); err != nil {
				return err
			}
		}
		if len(args) > 0 {
			if _, err := tx.ExecContext(ctx, insertStock+tuples(len(args)/3, 3), args...); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, releaseStock, at, pause.Microseconds())
		return err
	})
}
