// Package issuer is what a process needs to hand out numbers and to settle them.
//
// Next hands out of memory: a Buffer per biz type holds numbers that the ledger knows as held by
// this issuer, claimed ones before fresh ones, and refills itself ahead of use. Every hand-out goes
// through a bounded, sharded record queue into the ledger, and from there to the start of its
// lifecycle. Settle applies confirms and abandons to the ledger, many callers in one transaction,
// and wakes the lifecycle. Next never waits for Temporal, and for Redis only 20 ms after an idle
// while.
//
// The starter assembles it from db/ledger, db/pool and a Temporal client.
package issuer
