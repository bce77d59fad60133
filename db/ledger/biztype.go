package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

const bizTypeColumns = `name, format, step_min, step_max, confirm_timeout_ms, safety_window_ms, max_replays, revision`

const (
	insertBizType = `INSERT INTO t_seq_biz_type (` + bizTypeColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, 1)`
	insertCursor  = `INSERT INTO t_seq_cursor (biz_type, period, value) VALUES (?, '', 0)`
	queryBizTypes = `SELECT UTC_TIMESTAMP(6), ` + bizTypeColumns + ` FROM t_seq_biz_type ORDER BY name`
	queryBizType  = `SELECT UTC_TIMESTAMP(6), ` + bizTypeColumns + ` FROM t_seq_biz_type WHERE name = ?`
)

// ErrExists is a biz type whose name is taken.
var ErrExists = errors.New("a biz type of this name exists")

// CreateBizType adds a biz type at revision 1 with its cursor at 0. It returns ErrExists where
// the name is taken, and the faults of the settings as sequence.InvalidError.
func (l *Ledger) CreateBizType(ctx context.Context, b sequence.BizType) error {
	if err := b.Validate(); err != nil {
		return err
	}
	err := l.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, insertBizType, b.Name, b.Format.String(), b.StepMin, b.StepMax,
			b.ConfirmTimeout.Milliseconds(), b.SafetyWindow.Milliseconds(), b.MaxReplays)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, insertCursor, b.Name)
		return err
	})
	if number(err) == errDuplicateKey {
		return fmt.Errorf("create biz type %s: %w", b.Name, ErrExists)
	}
	return classify("create biz type "+b.Name, err)
}

const (
	lockBizType   = queryBizType + ` FOR UPDATE`
	updateBizType = `UPDATE t_seq_biz_type SET format = ?, step_min = ?, step_max = ?, confirm_timeout_ms = ?, safety_window_ms = ?,
		max_replays = ?, revision = revision + 1 WHERE name = ? AND revision = ?`
	queryHasNumbers = `SELECT COUNT(*) FROM t_seq_cursor WHERE biz_type = ? AND value > 0`
)

// ChangeBizType lets change work on the biz type as it stands and stores what it gives, as the next
// revision. It returns sequence.ErrNotFound, a sequence.RevisionError where revision is not the
// current one, the faults of the settings as sequence.InvalidError, or change's error. The format
// is fixed once a number was allocated. Transactions that begin after it see the new rules.
func (l *Ledger) ChangeBizType(ctx context.Context, name string, revision int64, change func(*sequence.BizType) error) (sequence.BizType, error) {
	var b sequence.BizType
	err := l.inTx(ctx, func(tx *sql.Tx) (err error) {
		b, err = changeBizType(ctx, tx, name, revision, change)
		return err
	})
	return b, classify("change biz type "+name, err)
}

func changeBizType(ctx context.Context, tx *sql.Tx, name string, revision int64, change func(*sequence.BizType) error) (sequence.BizType, error) {
	var now time.Time
	was, err := scanBizType(tx.QueryRowContext(ctx, lockBizType, name), &now)
	if errors.Is(err, sql.ErrNoRows) {
		return was, fmt.Errorf("biz type %s: %w", name, sequence.ErrNotFound)
	}
	if err != nil {
		return was, err
	}
	if revision != was.Revision {
		return was, &sequence.RevisionError{BizType: name, Given: revision, Current: was.Revision}
	}
	b := was
	if err := errors.Join(change(&b), b.Validate()); err != nil {
		return was, err
	}
	if b.Format != was.Format {
		var hasNumbers int
		if err := tx.QueryRowContext(ctx, queryHasNumbers, name).Scan(&hasNumbers); err != nil {
			return was, err
		}
		if hasNumbers > 0 {
			return was, sequence.Invalidf("format", "numbers were allocated as %s: it is fixed", was.Format)
		}
	}
	_, err = tx.ExecContext(ctx, updateBizType, b.Format.String(), b.StepMin, b.StepMax, b.ConfirmTimeout.Milliseconds(),
		b.SafetyWindow.Milliseconds(), b.MaxReplays, name, was.Revision)
	b.Revision++
	return b, err
}

// BizTypes reads all biz types in the order of their names.
func (l *Ledger) BizTypes(ctx context.Context) ([]sequence.BizType, error) {
	types, err := scanBizTypes(l.db.QueryContext(ctx, queryBizTypes))
	return types, classify("read the biz types", err)
}

// BizType reads one biz type; sequence.ErrNotFound where there is none of that name.
func (l *Ledger) BizType(ctx context.Context, name string) (sequence.BizType, error) {
	var now time.Time
	b, err := scanBizType(l.db.QueryRowContext(ctx, queryBizType, name), &now)
	if errors.Is(err, sql.ErrNoRows) {
		return b, fmt.Errorf("biz type %s: %w", name, sequence.ErrNotFound)
	}
	return b, classify("read biz type "+name, err)
}

func scanBizTypes(rows *sql.Rows, err error) ([]sequence.BizType, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	var types []sequence.BizType
	var now time.Time
	for rows.Next() {
		b, err := scanBizType(rows, &now)
		if err != nil {
			return nil, err
		}
		types = append(types, b)
	}
	return types, rows.Err()
}

// scanBizType reads a row of UTC_TIMESTAMP(6) and bizTypeColumns.
func scanBizType(row interface{ Scan(...any) error }, now *time.Time) (sequence.BizType, error) {
	var b sequence.BizType
	var format string
	var confirmTimeout, safetyWindow int64
	err := row.Scan(now, &b.Name, &format, &b.StepMin, &b.StepMax, &confirmTimeout, &safetyWindow, &b.MaxReplays, &b.Revision)
	if err != nil {
		return b, err
	}
	b.ConfirmTimeout = time.Duration(confirmTimeout) * time.Millisecond
	b.SafetyWindow = time.Duration(safetyWindow) * time.Millisecond
	if b.Format, err = sequence.ParseFormat(format); err != nil {
		return b, fmt.Errorf("biz type %s: %w", b.Name, err)
	}
	return b, nil
}
