// Package api is what the service and its clients agree on beside the messages of lacuna/v1.
package api

// Reasons of google.rpc.ErrorInfo, which tell apart what shares a code. Their domain is ErrorDomain.
const (
	ErrorDomain = "lacuna"

	// ReasonFormatFull: FAILED_PRECONDITION, the format has no numbers left and the pool is empty.
	ReasonFormatFull = "FORMAT_FULL"
	// ReasonTicketRequired: FAILED_PRECONDITION, the number has been issued more than once.
	ReasonTicketRequired = "TICKET_REQUIRED"
	// ReasonRevision: ABORTED, the settings have changed; the metadata "revision" is the current one.
	ReasonRevision = "REVISION"
	// ReasonKeyReused: FAILED_PRECONDITION, the idempotency key stands for a call with other content.
	ReasonKeyReused = "IDEMPOTENCY_KEY_REUSED"
	// ReasonKeySpent: FAILED_PRECONDITION, the number that the key stands for has come to its end. The
	// metadata are its "ticket", the "currentTicket" and the "state" in which that stands.
	ReasonKeySpent = "IDEMPOTENCY_KEY_SPENT"
	// ReasonLedgerSteppedBack: UNAVAILABLE, nothing of the biz type is issued or brought back, and what the ledger does
	// not know may have been handed out, until an operator has run `lacuna ledger raise`. The metadata is "bizType".
	ReasonLedgerSteppedBack = "LEDGER_STEPPED_BACK"
)
