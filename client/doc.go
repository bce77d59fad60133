// Package client is how a Go service takes numbers and says what became of them.
//
// Next hands out a number; Confirm and Abandon settle it. InTx does the whole for a service with a
// database: it takes a number, runs the caller's transaction with it, confirms after the commit and
// abandons after a rollback, off the caller's path. A row in lacuna_outbox, written inside that
// transaction, carries the confirm over a crash; Relay repeats what was left unsaid. Migrate makes
// the table (outbox.sql).
//
// A service assembles one Client at its start, runs Relay beside it, and calls Close at its end.
package client
