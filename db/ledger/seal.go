package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	// What a block waits for is looked up first: one row, however many are in the block.
	queryDue = `SELECT o.biz_type, o.period, o.lo, o.hi, n.id IS NOT NULL FROM t_seq_seal_open o FORCE INDEX (idx_open_look)
		LEFT JOIN t_seq_issue_log n ON n.biz_type = o.biz_type AND n.period = o.period AND n.value = o.waits_for AND n.status NOT IN (2, 7)
		WHERE o.look_time <= UTC_TIMESTAMP(6) ORDER BY o.look_time LIMIT ?`
	lookLater      = `UPDATE t_seq_seal_open SET look_time = UTC_TIMESTAMP(6) + INTERVAL 30 SECOND WHERE (biz_type, period, lo) IN (`
	lockOpen       = `SELECT hi FROM t_seq_seal_open WHERE biz_type = ? AND period = ? AND lo = ? FOR UPDATE SKIP LOCKED`
	queryNotFinal  = `SELECT n.value` + fromRange + ` AND n.status NOT IN (2, 7) ORDER BY n.value LIMIT 1`
	lockBlock      = `SELECT n.value, n.seq_no, n.status, n.life` + fromRange + ` ORDER BY n.value FOR UPDATE`
	querySkipsIn   = `SELECT lo, hi, reason FROM t_seq_skip WHERE biz_type = ? AND period = ? AND lo <= ? AND hi >= ? AND lo <= hi ORDER BY lo`
	waitFor        = `UPDATE t_seq_seal_open SET waits_for = ?, look_time = UTC_TIMESTAMP(6) + INTERVAL ? SECOND WHERE biz_type = ? AND period = ? AND lo = ?`
	deleteOpen     = `DELETE FROM t_seq_seal_open WHERE biz_type = ? AND period = ? AND lo = ?`
	queryBlockDone = `SELECT COUNT(*) FROM t_seq_seal WHERE biz_type = ? AND period = ? AND kind = 'SEAL' AND lo = ?`
)

// DueBlocks reads at most limit blocks that may be sealed, and says how many it looked at for that. Those whose
// first open number is still open are put off for 30 s.
func (l *Ledger) DueBlocks(ctx context.Context, limit int) (due []sequence.Block, looked int, err error) {
	type look struct {
		block sequence.Block
		waits bool
	}
	rows, err := l.db.QueryContext(ctx, queryDue, limit)
	all, err := collect(rows, err, func(row row) (k look, err error) {
		err = row.Scan(&k.block.BizType, &k.block.Period, &k.block.Lo, &k.block.Hi, &k.waits)
		return k, err
	})
	if err != nil {
		return nil, 0, classify("read the blocks that may be sealed", err)
	}
	var later []any
	for _, k := range all {
		if !k.waits {
			due = append(due, k.block)
			continue
		}
		later = append(later, k.block.BizType, k.block.Period, k.block.Lo)
	}
	if len(later) > 0 {
		_, err = l.exec(ctx, lookLater+tuples(len(later)/3, 3)+")", later...)
	}
	return due, len(all), classify("put off blocks that wait for a number", err)
}

// SealNow seals the block if each of its values is final or in a declared skip, and puts it off otherwise: for
// 30 s where it waits for a number, for 10 minutes where one is missing. false also where another process seals it, or has. Its rows are locked from before they are read
// until the seal stands, some 100 ms: a number of it that changes later finds the seal and amends it.
func (l *Ledger) SealNow(ctx context.Context, b sequence.Block) (sealed bool, err error) {
	err = l.inTx(ctx, func(tx *sql.Tx) error {
		s := &sealing{ctx: ctx, tx: tx, block: b}
		sealed, err = s.run()
		return err
	})
	if err != nil {
		return false, classify("seal "+b.String(), err)
	}
	return sealed, nil
}

// sealing is one try to seal a block.
type sealing struct {
	ctx   context.Context //nolint:containedctx // it lives for one transaction
	tx    *sql.Tx
	block sequence.Block
}

func (s *sealing) run() (sealed bool, err error) {
	b := &s.block
	err = s.tx.QueryRowContext(s.ctx, lockOpen, b.BizType, b.Period, b.Lo).Scan(&b.Hi)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var done int
	if err := s.tx.QueryRowContext(s.ctx, queryBlockDone, b.BizType, b.Period, b.Lo).Scan(&done); err != nil {
		return false, err
	}
	if done > 0 { // the frontier was lost, and made anew
		return false, s.exec(deleteOpen)
	}
	var waits sql.NullInt64
	err = s.tx.QueryRowContext(s.ctx, queryNotFinal, blockArgs(*b)...).Scan(&waits) // without a lock on 10,000 rows
	if err == nil {
		return false, s.wait(waits)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	sum, waits, ok, err := s.add()
	if err != nil {
		return false, err
	}
	if !ok {
		return false, s.wait(waits)
	}
	if err := s.exec(deleteOpen); err != nil {
		return false, err
	}
	return true, appendSeal(s.ctx, s.tx, sequence.Seal{
		BizType: b.BizType, Kind: sequence.SealOfBlock, Period: b.Period, Lo: b.Lo, Hi: b.Hi, BlockSum: sum,
	})
}

func (s *sealing) exec(query string, first ...any) error {
	_, err := s.tx.ExecContext(s.ctx, query, append(first, s.block.BizType, s.block.Period, s.block.Lo)...)
	return err
}

// wait puts the block off. Where it waits for no number it has a hole, of which the audit tells; all of it would
// be read again.
func (s *sealing) wait(value sql.NullInt64) error {
	seconds := 30
	if !value.Valid {
		seconds = 600
	}
	return s.exec(waitFor, value, seconds)
}

func blockArgs(b sequence.Block) []any { return []any{b.BizType, b.Period, b.Lo, b.Hi} }

// add locks the rows and adds them up. ok is false where a value is not final, which it names, or where one has
// no row and no skip, or both; of that the audit tells.
func (s *sealing) add() (sum sequence.BlockSum, waits sql.NullInt64, ok bool, err error) {
	rows, err := s.tx.QueryContext(s.ctx, querySkipsIn, s.block.BizType, s.block.Period, s.block.Hi, s.block.Lo)
	skips, err := collect(rows, err, scanSkip)
	if err != nil {
		return sum, waits, false, err
	}
	rows, err = s.tx.QueryContext(s.ctx, lockBlock, blockArgs(s.block)...)
	if err != nil {
		return sum, waits, false, fmt.Errorf("lock its rows: %w", err)
	}
	w := newBlockWalk(s.block, skips)
	err = eachSealed(rows, func(r sealedRow) error {
		if !r.state.Final() && !waits.Valid {
			waits = sql.NullInt64{Int64: r.value, Valid: true}
		}
		w.row(r)
		return nil
	})
	if err != nil {
		return sum, waits, false, fmt.Errorf("lock its rows: %w", err)
	}
	sum, whole := w.end()
	return sum, waits, whole && !waits.Valid, nil
}
