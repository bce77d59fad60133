package sequence

import (
	"errors"
	"fmt"
	"time"
)

// Errors that callers can test for with errors.Is. The more telling types below wrap them.
var (
	// ErrInvalid: the input itself is wrong; repeating it will not help. See InvalidError.
	ErrInvalid = errors.New("invalid argument")
	// ErrNotFound: there is no such biz type, or no such number was ever handed out.
	ErrNotFound = errors.New("not found")
	// ErrTicketRequired: a number that was issued more than once was named without its life.
	ErrTicketRequired = errors.New("the number has been issued more than once: quote the ticket")
	// ErrConflict: the number is somebody else's. See RefusedError.
	ErrConflict = errors.New("conflict: the number is held by another")
	// ErrStale: the command means a life that is over. See RefusedError.
	ErrStale = errors.New("stale: this life of the number is over")
	// ErrAlreadyConfirmed: an abandon came after the confirm, which is final. See RefusedError.
	ErrAlreadyConfirmed = errors.New("already confirmed: a confirm is final")
	// ErrTooLate: an extension came after the time to confirm. See RefusedError.
	ErrTooLate = errors.New("too late: the time to confirm is over")
	// ErrOverLimit: an extension goes past what the biz type allows. See RefusedError.
	ErrOverLimit = errors.New("over the limit: its biz type gives no more time")
	// ErrFull: the format has no numbers left and the pool is empty.
	ErrFull = errors.New("the format has no numbers left")
	// ErrBusy: a bound was met and nothing was taken; repeat later. See BusyError.
	ErrBusy = errors.New("busy")
	// ErrLeaseOver: the issuer's lease has ended; it holds nothing any more and goes on under a new id.
	ErrLeaseOver = errors.New("the issuer's lease is over")
	// ErrKeyReused: the idempotency key stands for a call with other content. Nothing was taken.
	ErrKeyReused = errors.New("the idempotency key was used for another call")
	// ErrKeySpent: the number that the idempotency key stands for has come to its end. See KeySpentError.
	ErrKeySpent = errors.New("the idempotency key stands for a number that is no longer held")
	// ErrUnavailable: a server that the call needs is away. See UnavailableError.
	ErrUnavailable = errors.New("unavailable")
)

// InvalidError names the faulty field of a request or a setting, as the API spells it.
type InvalidError struct {
	Field  string
	Reason string
}

// Invalidf makes an InvalidError.
func Invalidf(field, format string, args ...any) error {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Reason }

// Unwrap makes errors.Is(err, ErrInvalid) hold.
func (e *InvalidError) Unwrap() error { return ErrInvalid }

// RevisionError is a change of settings that was based on an older revision; nothing was changed.
type RevisionError struct {
	BizType string
	Given   int64 // 0 where none was given
	Current int64
}

func (e *RevisionError) Error() string {
	return fmt.Sprintf("biz type %s is at revision %d, not %d: read it, and change that", e.BizType, e.Current, e.Given)
}

// RefusedError is a command that was understood and not carried out.
type RefusedError struct {
	Outcome Outcome // OutcomeConflict, OutcomeStale, OutcomeAlreadyConfirmed, OutcomeTooLate or OutcomeOverLimit
	Asked   Ticket  // the life that the command named
	Current Ticket  // the life that stands in the ledger now
	State   State   // where that life stands
}

func (e *RefusedError) Error() string {
	if e.Outcome == OutcomeConflict && e.Asked == e.Current {
		return fmt.Sprintf("%s: %s: this life is in use for another biz key", e.Asked, e.Unwrap())
	}
	return fmt.Sprintf("%s: %s: the ledger has %s, %s", e.Asked, e.Unwrap(), e.Current, e.State)
}

// Unwrap gives the sentinel of the outcome.
func (e *RefusedError) Unwrap() error {
	switch e.Outcome {
	case OutcomeStale:
		return ErrStale
	case OutcomeAlreadyConfirmed:
		return ErrAlreadyConfirmed
	case OutcomeTooLate:
		return ErrTooLate
	case OutcomeOverLimit:
		return ErrOverLimit
	default:
		return ErrConflict
	}
}

// KeySpentError is a repeated call of Next whose number has come to an end in the meantime: it is not
// handed out again under the same key.
type KeySpentError struct {
	Key     string
	Ticket  Ticket // what the first call was answered
	Current Ticket // the life that stands in the ledger now
	State   State  // where that life stands
}

func (e *KeySpentError) Error() string {
	return fmt.Sprintf("%q stands for %s: %s: the ledger has %s, %s: use a new key", e.Key, e.Ticket, ErrKeySpent, e.Current, e.State)
}

// Unwrap makes errors.Is(err, ErrKeySpent) hold.
func (e *KeySpentError) Unwrap() error { return ErrKeySpent }

// BusyError says what is full and when to repeat the call. Nothing was taken.
type BusyError struct {
	What       string
	RetryAfter time.Duration
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s: repeat after %s", e.What, e.RetryAfter)
}

// Unwrap makes errors.Is(err, ErrBusy) hold.
func (e *BusyError) Unwrap() error { return ErrBusy }

// UnavailableError says which server is away. Cause is for logs, not for callers.
type UnavailableError struct {
	What  string
	Cause error
}

func (e *UnavailableError) Error() string {
	if e.Cause == nil {
		return e.What
	}
	return fmt.Sprintf("%s: %v", e.What, e.Cause)
}

// Unwrap makes errors.Is hold for ErrUnavailable and for the cause.
func (e *UnavailableError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrUnavailable}
	}
	return []error{ErrUnavailable, e.Cause}
}
