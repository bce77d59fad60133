package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

const sealColumns = `biz_type, number, kind, period, lo, hi, confirmed, retired, skipped, lives, content_hash, seq_no, life, biz_key,
	sealed_time, previous_hash, hash`

const (
	makeHead    = `INSERT INTO t_seq_seal_head (biz_type, number, hash) VALUES (?, 0, ?) ON DUPLICATE KEY UPDATE number = number`
	lockHead    = `SELECT number, hash FROM t_seq_seal_head WHERE biz_type = ? FOR UPDATE`
	moveHead    = `UPDATE t_seq_seal_head SET number = ?, hash = ? WHERE biz_type = ? AND number = ?`
	insertSeal  = `INSERT INTO t_seq_seal (` + sealColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	querySealed = `SELECT COALESCE((SELECT hi FROM t_seq_seal WHERE biz_type = ? AND period = ? AND kind = 'SEAL' AND lo <= ?
		ORDER BY lo DESC LIMIT 1), -1) >= ?`
	queryMicros = `SELECT UTC_TIMESTAMP(6)`
)

// appendSeal adds an entry to the end of its biz type's chain. The end is locked last of all that a transaction
// locks, so that those who append never wait for each other's numbers.
func appendSeal(ctx context.Context, tx *sql.Tx, s sequence.Seal) error {
	var head int64
	if _, err := tx.ExecContext(ctx, makeHead, s.BizType, sequence.NoSeal); err != nil {
		return fmt.Errorf("make the chain of %s: %w", s.BizType, err)
	}
	if err := tx.QueryRowContext(ctx, lockHead, s.BizType).Scan(&head, &s.PreviousHash); err != nil {
		return fmt.Errorf("lock the end of the chain of %s: %w", s.BizType, err)
	}
	s.Number = head + 1
	// Read under the lock: times ascend along the chain.
	if err := tx.QueryRowContext(ctx, queryMicros).Scan(&s.SealedTime); err != nil {
		return err
	}
	s.Hash = s.Sum()
	_, err := tx.ExecContext(ctx, insertSeal, s.BizType, s.Number, string(s.Kind), s.Period, s.Lo, s.Hi, s.Confirmed, s.Retired, s.Skipped, s.Lives,
		s.ContentHash, s.SeqNo, s.Life, s.BizKey, datetime(s.SealedTime), s.PreviousHash, s.Hash)
	if err != nil {
		return fmt.Errorf("append number %d to the chain of %s: %w", s.Number, s.BizType, err)
	}
	if _, err := tx.ExecContext(ctx, moveHead, s.Number, s.Hash, s.BizType, head); err != nil {
		return fmt.Errorf("move the end of the chain of %s: %w", s.BizType, err)
	}
	return nil
}

// amend appends an amendment for each number that was sealed and has been confirmed since. It is of the
// transaction that confirms: the number's row is locked, so either its block was sealed before, which shows
// here, or whoever seals it waits for this commit and finds the number confirmed.
func amend(ctx context.Context, tx *sql.Tx, rows []changed) error {
	for _, r := range rows {
		if !r.was.State.Final() || r.is.State == r.was.State && r.is.Life == r.was.Life {
			continue
		}
		var sealed bool
		if err := tx.QueryRowContext(ctx, querySealed, r.is.BizType, r.is.Period, r.is.Value, r.is.Value).Scan(&sealed); err != nil {
			return fmt.Errorf("look whether %s is sealed: %w", r.is.Ticket(), err)
		}
		if !sealed {
			continue
		}
		err := appendSeal(ctx, tx, sequence.Seal{
			BizType: r.is.BizType, Kind: sequence.SealAmendment, Period: r.is.Period, Lo: r.is.Value, Hi: r.is.Value,
			SeqNo: r.is.SeqNo, Life: r.is.Life, BizKey: r.is.BizKey,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func scanSeal(row row) (s sequence.Seal, err error) {
	var kind string
	var sealed time.Time
	err = row.Scan(&s.BizType, &s.Number, &kind, &s.Period, &s.Lo, &s.Hi, &s.Confirmed, &s.Retired, &s.Skipped, &s.Lives, &s.ContentHash,
		&s.SeqNo, &s.Life, &s.BizKey, &sealed, &s.PreviousHash, &s.Hash)
	s.Kind, s.SealedTime = sequence.SealKind(kind), sealed
	return s, err
}
