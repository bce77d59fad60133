package sequence

import "strconv"

// MaxReason bounds the reason that a person or a probe gives, in bytes.
const MaxReason = 255

// DeadCause is why a number waits for a person.
type DeadCause int8

const (
	// CausePoolAway means: the pool could not be reached, or lost the number, however often it was tried.
	CausePoolAway DeadCause = iota + 1
	// CauseProbeAway means: the business could not be asked whether it holds the number.
	CauseProbeAway
	// CauseCancelled means: an operator cancelled the run, to keep the number out of the pool.
	CauseCancelled
	// CauseNotConfirmed means: nobody confirmed in time, and its biz type leaves that to a person.
	CauseNotConfirmed
	// CauseSteppedBack means: it was open, or not known, when the ledger stepped back, and may be in use.
	CauseSteppedBack
)

// DeadCauses lists every cause.
var DeadCauses = [...]DeadCause{CausePoolAway, CauseProbeAway, CauseCancelled, CauseNotConfirmed, CauseSteppedBack}

// String is the cause in capitals, e.g. "POOL_AWAY".
func (c DeadCause) String() string {
	switch c {
	case CausePoolAway:
		return "POOL_AWAY"
	case CauseProbeAway:
		return "PROBE_AWAY"
	case CauseCancelled:
		return "CANCELLED"
	case CauseNotConfirmed:
		return "NOT_CONFIRMED"
	case CauseSteppedBack:
		return "STEPPED_BACK"
	}
	return "CAUSE_" + strconv.Itoa(int(c))
}

// ParseDeadCause reads what String spelled.
func ParseDeadCause(name string) (DeadCause, error) { return named(DeadCauses[:], "cause", name) }

// MarshalText spells the cause by its name, in workflow inputs and results.
func (c DeadCause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText spelled.
func (c *DeadCause) UnmarshalText(text []byte) (err error) {
	*c, err = ParseDeadCause(string(text))
	return err
}
