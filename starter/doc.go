// Command starter is the API server: it hands out numbers and settles them.
//
// service.go answers lacuna.v1.SequenceService over an issuer, operator.go lacuna.v1.OperatorService
// over the ledger, errors.go maps errors to the API's
// codes and details, numbers.go maps rows to messages, server.go is HTTP, and run.go assembles and
// ends the process.
package main
