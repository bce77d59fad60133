package client

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// ErrCommitUnknown is a transaction whose COMMIT was not answered, while the database does not tell
// yet what became of it. The client goes on asking and settles the number accordingly.
var ErrCommitUnknown = errors.New("the answer to COMMIT was lost, and the database does not tell yet what became of it")

// resolveWait is how long InTx asks the database what became of a COMMIT without an answer.
const resolveWait = 2 * time.Second

// InTx takes a number of the biz type and runs fn with it in a transaction of db. It returns nil
// when the transaction was committed, also where the answer to COMMIT was lost and the database
// proves it. After a commit the number is confirmed, after a rollback (an error or a panic of fn, or
// a failed commit) abandoned, both in the background.
//
// The ticket stands in lacuna_outbox of the same transaction; see Migrate and Relay. fn must not
// commit or roll back. The error is Next's, fn's, the database's, or ErrCommitUnknown.
func (c *Client) InTx(ctx context.Context, db *sql.DB, bizType string, fn func(tx *sql.Tx, n Number) error, opts ...NextOption) error {
	n, err := c.Next(ctx, bizType, opts...)
	if err != nil {
		return err
	}
	asked := &lacunav1.NextRequest{}
	for _, opt := range opts {
		opt(asked)
	}
	t := &transaction{client: c, db: db, number: n, bizKey: asked.GetBizKey()}
	defer t.settle(ctx)
	return t.run(ctx, fn)
}

// transaction is one call of InTx.
type transaction struct {
	client *Client
	db     *sql.DB
	number Number
	bizKey string
	fate   fate
	doubt  bool // its COMMIT was sent and not answered
}

func (t *transaction) run(ctx context.Context, fn func(*sql.Tx, Number) error) error {
	t.fate = fateRolledBack // until the commit, whatever happens; a panic passes through here
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it has nothing to do; before, the first error counts
	if t.client.outbox {
		if _, err := tx.ExecContext(ctx, insertConfirm, t.number.Ticket, t.bizKey); err != nil {
			return fmt.Errorf("write %s to lacuna_outbox: %w", t.number.Ticket, err)
		}
	}
	if err := fn(tx, t.number); err != nil {
		return err
	}
	err = tx.Commit()
	if err == nil {
		t.fate = fateCommitted
		return nil
	}
	if wasNotSent(err) {
		return fmt.Errorf("commit: %w", err)
	}
	return t.resolve(ctx, err)
}

// wasNotSent reports whether the transaction had ended before COMMIT could be sent. Any other
// failure may have come after the commit.
func wasNotSent(err error) bool {
	return errors.Is(err, sql.ErrTxDone) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// resolve asks the database what became of a COMMIT that was not answered.
func (t *transaction) resolve(ctx context.Context, cause error) error {
	t.fate, t.doubt = fateUnknown, true
	if !t.client.outbox {
		return fmt.Errorf("%w: %w", ErrCommitUnknown, cause)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveWait)
	defer cancel()
	err := retry(ctx, func(ctx context.Context) (err error) {
		t.fate, err = fateOf(ctx, t.db, t.number.Ticket, t.bizKey)
		return err
	})
	switch t.fate {
	case fateCommitted:
		return nil
	case fateRolledBack:
		return fmt.Errorf("commit: %w", cause)
	case fateUnknown:
	}
	return fmt.Errorf("%w: %w", ErrCommitUnknown, errors.Join(cause, err))
}

// settle leaves to the background what is to be said. It also runs when fn panics.
func (t *transaction) settle(ctx context.Context) {
	j := job{caller: ctx, db: t.db, command: &lacunav1.Command{Ticket: t.number.Ticket, Action: lacunav1.Action_ACTION_ABANDON}}
	switch t.fate {
	case fateCommitted:
		j.command.Action, j.command.BizKey, j.row = lacunav1.Action_ACTION_CONFIRM, t.bizKey, t.client.outbox
	case fateRolledBack:
		j.row = t.doubt // the tombstone
	case fateUnknown:
		if !t.client.outbox {
			return // nobody can tell: the number times out if the transaction was not committed
		}
		j.unknown, j.command.BizKey = true, t.bizKey
	}
	t.client.sender.Send(j)
}
