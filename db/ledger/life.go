package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Life is what a life of a number was before the number was issued again.
type Life struct {
	Ticket        sequence.Ticket
	BatchID       string
	BizKey        string
	IssuedTime    time.Time
	AbandonedTime time.Time
	Reason        string
}

// A claim that is handed back and repeated finds its life written already.
const (
	insertLife = `INSERT INTO t_seq_life (biz_type, seq_no, life, batch_id, biz_key, issued_time, abandoned_time, reason) VALUES `
	keepLife   = ` ON DUPLICATE KEY UPDATE id = id`
	queryLives = `SELECT life, batch_id, biz_key, issued_time, abandoned_time, reason FROM t_seq_life
		WHERE biz_type = ? AND seq_no = ? AND life < ? ORDER BY life`
	queryNumber   = `SELECT ` + numberColumns + ` FROM t_seq_issue_log WHERE biz_type = ? AND seq_no = ?`
	queryArchived = `SELECT ` + numberColumns + ` FROM t_seq_archive WHERE biz_type = ? AND seq_no = ?`
)

// insertLives writes down what the claimed numbers' lives were.
func insertLives(ctx context.Context, tx *sql.Tx, ended []sequence.Number) error {
	if len(ended) == 0 {
		return nil
	}
	args := make([]any, 0, 8*len(ended))
	for _, n := range ended {
		args = append(args, n.BizType, n.SeqNo, n.Life, n.BatchID, n.BizKey, null(n.IssuedTime), null(n.AbandonedTime), n.Reason)
	}
	query := insertLife + tuples(len(ended), 8) + keepLife
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("write %d lives: %w", len(ended), err)
	}
	return nil
}

// Get reads a number and the lives before its present one, oldest first; sequence.ErrNotFound
// where there is no such number. It may have been archived.
func (l *Ledger) Get(ctx context.Context, bizType, seqNo string) (sequence.Number, []Life, error) {
	n, err := scanNumber(l.db.QueryRowContext(ctx, queryNumber, bizType, seqNo))
	if errors.Is(err, sql.ErrNoRows) {
		n, err = scanNumber(l.db.QueryRowContext(ctx, queryArchived, bizType, seqNo))
	}
	if errors.Is(err, sql.ErrNoRows) {
		return n, nil, fmt.Errorf("number %s of %s: %w", seqNo, bizType, sequence.ErrNotFound)
	}
	if err != nil {
		return n, nil, classify("read number "+seqNo+" of "+bizType, err)
	}
	lives, err := l.lives(ctx, n)
	return n, lives, classify("read the lives of "+seqNo+" of "+bizType, err)
}

func (l *Ledger) lives(ctx context.Context, n sequence.Number) ([]Life, error) {
	rows, err := l.db.QueryContext(ctx, queryLives, n.BizType, n.SeqNo, n.Life)
	return collect(rows, err, func(row row) (Life, error) {
		life := Life{Ticket: n.Ticket()}
		var issued, abandoned sql.NullTime
		err := row.Scan(&life.Ticket.Life, &life.BatchID, &life.BizKey, &issued, &abandoned, &life.Reason)
		life.IssuedTime, life.AbandonedTime = issued.Time, abandoned.Time
		return life, err
	})
}

// null is the argument for a time column that may be empty.
func null(t time.Time) sql.NullTime {
	return sql.NullTime{Time: t, Valid: !t.IsZero()}
}
