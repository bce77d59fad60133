package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// Types of the errors that cross Temporal. The server sees only the outermost error, so each
// verdict on retrying is given here and never wrapped again.
const (
	// ErrorLedgerAway: the ledger did not carry the commands out; retry.
	ErrorLedgerAway = "LedgerAway"
	// ErrorPoolAway: the push to the pool failed; retry.
	ErrorPoolAway = "PoolAway"
	// ErrorProbeAway: the business did not say whether it holds the number; retry.
	ErrorProbeAway = "ProbeAway"
	// ErrorInvalidInput: the input can never be carried out.
	ErrorInvalidInput = "InvalidInput"
)

func ledgerAway(cause error) error {
	return temporal.NewApplicationErrorWithCause(cause.Error(), ErrorLedgerAway, cause)
}

// wrapAway is ledgerAway, and nil where there is no error.
func wrapAway(cause error) error {
	if cause == nil {
		return nil
	}
	return ledgerAway(cause)
}

// poolAway is nil where there is no error.
func poolAway(cause error) error {
	if cause == nil {
		return nil
	}
	return temporal.NewApplicationErrorWithCause(cause.Error(), ErrorPoolAway, cause)
}

func invalidInput(cause error) error {
	return temporal.NewNonRetryableApplicationError(cause.Error(), ErrorInvalidInput, cause)
}

// onLadder is the verdict on an attempt that failed: again after the pause that the biz type gives, or,
// when there is none left, never; the detail is then how often it was tried again. Without pauses it is the retry policy's to say.
func onLadder(ctx context.Context, delays []time.Duration, errorType string, cause error) error {
	attempt := int(activity.GetInfo(ctx).Attempt)
	if len(delays) > 0 && attempt > len(delays) {
		return temporal.NewApplicationErrorWithOptions(cause.Error(), errorType, temporal.ApplicationErrorOptions{
			NonRetryable: true, Cause: cause, Details: []any{int32(attempt - 1)}, //nolint:gosec // 11 at most
		})
	}
	options := temporal.ApplicationErrorOptions{Cause: cause}
	if len(delays) > 0 {
		options.NextRetryDelay = delays[attempt-1]
	}
	return temporal.NewApplicationErrorWithOptions(cause.Error(), errorType, options)
}
