package client

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/lacuna-seq/lacuna/sequence"
)

//go:embed outbox.sql
var createOutbox string

// duplicateKey is MySQL's error number of a key that is taken.
const duplicateKey = 1062

const (
	insertConfirm   = `INSERT INTO lacuna_outbox (ticket, biz_key, meaning, created_time) VALUES (?, ?, 'confirm', UTC_TIMESTAMP(6))`
	insertTombstone = `INSERT INTO lacuna_outbox (ticket, biz_key, meaning, created_time) VALUES (?, ?, 'tombstone', UTC_TIMESTAMP(6))`
	queryMeaning    = `SELECT meaning FROM lacuna_outbox WHERE ticket = ?`
	deleteTicket    = `DELETE FROM lacuna_outbox WHERE ticket = ?`
	markRefused     = `UPDATE lacuna_outbox SET refusal = ? WHERE ticket = ?`
)

// Migrate makes the table lacuna_outbox in the database that db names, where it is missing: MySQL
// 8.0.16+ or MariaDB 10.6+, in the database that holds the service's own tables.
func Migrate(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, createOutbox); err != nil {
		return fmt.Errorf("make the table lacuna_outbox: %w", err)
	}
	return nil
}

// fate is what became of a transaction.
type fate int

const (
	fateUnknown fate = iota
	fateCommitted
	fateRolledBack
)

// fateOf finds out what became of a transaction whose COMMIT was not answered. The tombstone has
// the key of the row that the transaction would have written: while it is in flight the insert
// waits for it; a duplicate proves the commit, a success proves that there never will be one. The
// error is a sequence.UnavailableError: the database does not tell yet.
func fateOf(ctx context.Context, db *sql.DB, ticket, bizKey string) (fate, error) {
	_, err := db.ExecContext(ctx, insertTombstone, ticket, bizKey)
	var e *mysql.MySQLError
	switch {
	case err == nil:
		return fateRolledBack, nil
	case !errors.As(err, &e) || e.Number != duplicateKey:
		return fateUnknown, &sequence.UnavailableError{What: "the caller's database does not tell what became of a transaction", Cause: err}
	}
	var meaning string // an earlier try of ours may have left the tombstone
	if err := db.QueryRowContext(ctx, queryMeaning, ticket).Scan(&meaning); err != nil {
		return fateUnknown, &sequence.UnavailableError{What: "the caller's database does not tell what became of a transaction", Cause: err}
	}
	if meaning == "tombstone" {
		return fateRolledBack, nil
	}
	return fateCommitted, nil
}

// forget removes a row whose story has ended.
func forget(ctx context.Context, db *sql.DB, ticket string) error {
	_, err := db.ExecContext(ctx, deleteTicket, ticket)
	return err
}
