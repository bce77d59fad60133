// Package pool keeps hints in Redis: which numbers may be issued again, lowest first.
//
// A pool is one sorted set per biz type; a member is a seq no, so a number that is pushed twice
// is there once. The ledger alone decides whether a popped number is free: a claim is a guarded
// write there. Losing a reply, a key or the whole server loses hints and no number.
//
// The starter and the worker open a Pool; keys.go alone spells the keys.
package pool
