package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// A snapshot shows every table as it stood at one moment, and holds no lock. The isolation is set for
// the next transaction only; the session keeps its own.
const (
	nextIsRepeatable = `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`
	beginSnapshot    = `START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY`
	endSnapshot      = `COMMIT`
)

// inSnapshot lets fn read from one snapshot. Its statements must be short and follow each other
// without pauses: the server closes a connection that says nothing for idleLimit.
func (l *Ledger) inSnapshot(ctx context.Context, fn func(*sql.Conn) error) error {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close() //nolint:errcheck // everything was read
	err = readSnapshot(ctx, conn, fn)
	if err != nil {
		// Where the transaction ended is not known: the pool does not get the connection back.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return err
}

func readSnapshot(ctx context.Context, conn *sql.Conn, fn func(*sql.Conn) error) error {
	for _, statement := range []string{nextIsRepeatable, beginSnapshot} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	if err := fn(conn); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, endSnapshot)
	return errors.Join(err, ctx.Err())
}
