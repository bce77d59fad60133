// Package ledger keeps the numbers in MySQL or MariaDB: the only truth about them.
//
// Apply carries out commands: it locks the rows in key order, lets sequence.Decide decide under
// the lock by the database's clock, writes once under a guard, and answers what was decided.
// Allocate moves a cursor and inserts the block's rows. The other files hold one noun each
// (biz type, issuer, life, conflict) with its SQL beside the method that runs it.
//
// The starter and the worker open a Ledger; migrations bring its tables.
package ledger
