package sequence

import "strconv"

// OnTimeout says what becomes of a number that nobody confirmed in time.
type OnTimeout int8

const (
	// OnTimeoutAbandon counts silence as an abandon: the window runs, and the number is issued again.
	OnTimeoutAbandon OnTimeout = iota + 1
	// OnTimeoutDeadLetter leaves it to a person: for callers that may have used it and not said so.
	OnTimeoutDeadLetter
)

// OnTimeouts lists every policy.
var OnTimeouts = [...]OnTimeout{OnTimeoutAbandon, OnTimeoutDeadLetter}

// String is the policy in capitals, e.g. "DEAD_LETTER".
func (o OnTimeout) String() string {
	switch o {
	case OnTimeoutAbandon:
		return "ABANDON"
	case OnTimeoutDeadLetter:
		return "DEAD_LETTER"
	}
	return "ON_TIMEOUT_" + strconv.Itoa(int(o))
}

// ParseOnTimeout reads what String spelled.
func ParseOnTimeout(name string) (OnTimeout, error) { return named(OnTimeouts[:], "onTimeout", name) }
