package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"

	"github.com/lacuna-seq/lacuna/sequence"
)

// MySQL's error numbers that the ledger acts on.
const (
	errTooManyConnections = 1040
	errDatabaseDenied     = 1044
	errAccessDenied       = 1045
	errUnknownDatabase    = 1049
	errServerShutdown     = 1053
	errDuplicateKey       = 1062
	errDiskFull           = 1021
	errErrorOnWrite       = 1026
	errTableFull          = 1114
	errNoSuchTable        = 1146
	errUserLimit          = 1203
	errLockWaitTimeout    = 1205
	errDeadlock           = 1213
	errOptionPrevents     = 1290 // read-only server
	errQueryInterrupted   = 1317
	errReadOnlyTx         = 1792
	errReadOnlyMode       = 1836
	errConnectionKilled   = 1927
	errQueryTimeout       = 3024
	errGaleraNotReady     = 1047
)

func number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// isAway is a server that cannot serve now; the same call may succeed later.
func isAway(err error) bool {
	switch number(err) {
	case errTooManyConnections, errDatabaseDenied, errAccessDenied, errUnknownDatabase, errServerShutdown,
		errDiskFull, errErrorOnWrite, errTableFull, errUserLimit, errLockWaitTimeout, errDeadlock, errOptionPrevents,
		errQueryInterrupted, errReadOnlyTx, errReadOnlyMode, errConnectionKilled, errQueryTimeout, errGaleraNotReady:
		return true
	}
	var netErr net.Error
	return errors.As(err, &netErr) || isConnectionLost(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// awayBy says what is wrong with the server, where it says so itself: callers and operators are told no more than this.
func awayBy(err error) string {
	switch number(err) {
	case errDiskFull, errErrorOnWrite, errTableFull:
		return "the ledger's disk is full"
	case errDatabaseDenied, errAccessDenied:
		return "the ledger refuses the user or the password of LACUNA_MYSQL_DSN"
	case errOptionPrevents, errReadOnlyTx, errReadOnlyMode:
		return "the ledger's server is read-only"
	case errTooManyConnections, errUserLimit:
		return "the ledger has no connection left"
	}
	return "the ledger is away"
}

// isConnectionLost is an answer that never came: what was asked may have been done.
func isConnectionLost(err error) bool {
	var netErr *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &netErr)
}

// classify names what was tried, and marks a server that is away as sequence.ErrUnavailable.
func classify(tried string, err error) error {
	var revision *sequence.RevisionError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sequence.ErrUnavailable), errors.Is(err, sequence.ErrNotFound),
		errors.Is(err, sequence.ErrFull), errors.Is(err, sequence.ErrInvalid), errors.Is(err, sequence.ErrLeaseOver),
		errors.As(err, &revision):
		return err
	case isAway(err):
		return &sequence.UnavailableError{What: awayBy(err), Cause: fmt.Errorf("%s: %w", tried, err)}
	case number(err) == errNoSuchTable:
		return fmt.Errorf("ledger: %s: a table is missing, run `lacuna migrate up`: %w", tried, err)
	}
	return fmt.Errorf("ledger: %s: %w", tried, err)
}
