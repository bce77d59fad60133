// Package drift compares the pool with the ledger, and brings it back to what the ledger says.
//
// The ledger is the truth. What Redis lacks is a number that is issued later than it could be; what Redis has
// too much is dropped when somebody claims it. So drift does no harm beyond waiting, and correcting it is
// safe at any time, with traffic, and with any number of corrections at once.
//
// walk.go reads both sides in pages and finds what seems to differ; judge.go decides what does, after a second
// look; correct.go pushes and removes. The starter's CheckPool and RebuildPool call it.
package drift
