// Package pool keeps hints in Redis: which numbers may be issued again, and how far the counters of
// biz types of the source REDIS have gone.
//
// A pool is one sorted set per biz type (and period, where numbers are issued again in their own period
// only); a member is a seq no, so a number that is pushed twice is there once. The ledger alone decides
// whether a popped number is free, and whether a value that the counter gave is new: both are
// guarded writes there. Losing a reply, a key or the whole server loses hints and no number.
//
// The starter and the worker open a Pool; keys.go alone spells the keys.
package pool
