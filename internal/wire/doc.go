// Package wire is how lacuna.v1.SequenceService is spoken: requests are read and checked, answers and errors are
// spelled, in this one place.
//
// Service serves the API over whatever issues numbers, an Issuing; Error is the table from errors to the API's
// codes and details; Codec and Bound are what every handler of the API has around it.
//
// The starter assembles them over its issuer and ledger, and client/lacunatest over memory, so that a service's own
// tests meet the answers of the real one.
package wire
