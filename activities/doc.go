// Package activities carries out what a number's lifecycle decides to do: settle its row, and
// return it to the pool.
//
// Activities holds the two activities, over small interfaces of the ledger and the pool that the
// stores satisfy by shape. Calls of many lifecycles are joined into few of those. errors.go makes
// the errors that cross Temporal, each with its verdict on retrying.
//
// The worker assembles it and registers it beside the workflows.
package activities
