// Package workflows gives every issued number a life of its own in Temporal.
//
// NumberLifecycle waits for a confirm, an abandon or the deadline, lets the safety window pass
// and returns the number to the pool. The row in the ledger is the truth; the workflow is its
// clock and its conscience. names.go and start.go fix what starts and signals a lifecycle,
// options.go how its activities are retried.
//
// The worker registers it; the issuer, and services that signal by themselves, start it.
package workflows
