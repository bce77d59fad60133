package activities

import (
	"go.temporal.io/sdk/temporal"
)

// Types of the errors that cross Temporal. The server sees only the outermost error, so each
// verdict on retrying is given here and never wrapped again.
const (
	// ErrorLedgerAway: the ledger did not carry the commands out; retry.
	ErrorLedgerAway = "LedgerAway"
	// ErrorPoolAway: the push to the pool failed; retry.
	ErrorPoolAway = "PoolAway"
	// ErrorInvalidInput: the input can never be carried out.
	ErrorInvalidInput = "InvalidInput"
)

func ledgerAway(cause error) error {
	return temporal.NewApplicationErrorWithCause(cause.Error(), ErrorLedgerAway, cause)
}

func poolAway(cause error) error {
	return temporal.NewApplicationErrorWithCause(cause.Error(), ErrorPoolAway, cause)
}

func invalidInput(cause error) error {
	return temporal.NewNonRetryableApplicationError(cause.Error(), ErrorInvalidInput, cause)
}
