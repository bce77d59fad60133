package sequence

import "strconv"

// State says where a number stands. The codes are those of the status column.
type State int8

const (
	// Reserved means: allocated by the cursor and in one issuer's memory, never handed out.
	// Leaves to Allocated, Replayable (handed back) or Retired.
	Reserved State = 0
	// Allocated means: handed to a caller; the deadline is the time to confirm by.
	// Leaves to Confirmed, Abandoned or Dead.
	Allocated State = 1
	// Confirmed means: in business use. Final.
	Confirmed State = 2
	// Abandoned means: in the safety window; the deadline is its end.
	// Leaves to Confirmed (rescue), Replayable, Retired or Dead.
	Abandoned State = 3
	// Replayable means: in the pool; the deadline says when to check that it really is there.
	// Leaves to Replayed, Confirmed (rescue), Dead or Retired.
	Replayable State = 4
	// Replayed means: claimed from the pool and in one issuer's memory, not handed out again yet.
	// Leaves to Allocated, Replayable (handed back) or Retired.
	Replayed State = 5
	// Dead means: its return to the pool failed and a person must act.
	// Leaves to Abandoned (requeue), Retired (write-off) or Confirmed (rescue).
	Dead State = 6
	// Retired means: never issued again, a declared gap. Leaves to Confirmed (late confirm of its last life).
	Retired State = 7
)

// States lists every state in the order of its code.
var States = [...]State{Reserved, Allocated, Confirmed, Abandoned, Replayable, Replayed, Dead, Retired}

// String is the state's name as operators see it: in SeqState, in metrics and in the API.
func (s State) String() string {
	switch s {
	case Reserved:
		return "RESERVED"
	case Allocated:
		return "ALLOCATED"
	case Confirmed:
		return "CONFIRMED"
	case Abandoned:
		return "ABANDONED"
	case Replayable:
		return "REPLAYABLE"
	case Replayed:
		return "REPLAYED"
	case Dead:
		return "DEAD"
	case Retired:
		return "RETIRED"
	}
	return "STATE_" + strconv.Itoa(int(s))
}

// Held reports whether a number in this state sits in one issuer's memory.
func (s State) Held() bool { return s == Reserved || s == Replayed }

// Final reports whether a number in this state is never issued again: Confirmed, for good, or Retired, which only
// a late confirm changes.
func (s State) Final() bool { return s == Confirmed || s == Retired }

// MarshalText spells the state by its name, in workflow inputs and results.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText spelled.
func (s *State) UnmarshalText(text []byte) error {
	for _, known := range States {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return Invalidf("state", "%s is not the name of a state", quote(string(text)))
}
