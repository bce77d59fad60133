// Package batching joins the calls of many goroutines into few calls for many.
//
// A Coalescer has a queue and some workers. A worker takes whatever waits, up to a bound, and
// carries it out as one batch; what arrives meanwhile makes the next one. So a lone call is not
// delayed and a crowd shares one transaction.
//
// The issuer and the activities assemble their ledger and pool calls with it.
package batching
