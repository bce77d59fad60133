package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wait"
)

// maxLockRetries bounds how often a transaction that lost against others is repeated. With the
// lock wait of 2 s the worst case stays below half a minute.
const maxLockRetries = 10

// errCommitUnknown marks a COMMIT whose answer was lost: the transaction happened, or it did not.
var errCommitUnknown = errors.New("the answer to COMMIT was lost")

// inTx runs fn in one transaction, and again with jitter while it is rolled back for a deadlock.
// A lock wait that ran out is returned, so that a batch can be halved. An unknown COMMIT is
// errCommitUnknown, and is not repeated here: only the caller knows how to look.
func (l *Ledger) inTx(ctx context.Context, fn func(*sql.Tx) error) error {
	for try := 1; ; try++ {
		err := l.once(ctx, fn)
		if number(err) != errDeadlock || try == maxLockRetries {
			return err
		}
		l.log.DebugContext(ctx, "a deadlock rolled the transaction back; repeating it", "try", try)
		if err := wait.For(ctx, rand.N(time.Duration(try)*5*time.Millisecond)); err != nil {
			return err
		}
	}
}

func (l *Ledger) once(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it has nothing to do; before, the first error counts
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		if isConnectionLost(err) || ctx.Err() != nil {
			return fmt.Errorf("%w: %w", errCommitUnknown, err)
		}
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// exec runs one statement as a transaction of its own and counts the rows that it changed.
func (l *Ledger) exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = l.inTx(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err = result.RowsAffected()
		return err
	})
	return n, err
}
