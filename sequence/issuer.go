package sequence

import "time"

// Issuer is a process that hands out numbers, under one lease.
type Issuer struct {
	ID    string
	Lease time.Duration // how long it may hand out numbers after the ledger last heard of it
}
