package sequence

import "strconv"

// Reuse says whether a number that was given up is issued again.
type Reuse int8

const (
	// ReuseAny issues it again at any time.
	ReuseAny Reuse = iota + 1
	// ReuseSamePeriod issues it again within its period and retires it afterwards: yesterday's
	// number is not issued under today's date.
	ReuseSamePeriod
	// ReuseNever retires it. Only what was never handed out goes back to the pool.
	ReuseNever
)

// Reuses lists every reuse policy.
var Reuses = [...]Reuse{ReuseAny, ReuseSamePeriod, ReuseNever}

// String is the policy in capitals, e.g. "SAME_PERIOD".
func (r Reuse) String() string {
	switch r {
	case ReuseAny:
		return "ANY"
	case ReuseSamePeriod:
		return "SAME_PERIOD"
	case ReuseNever:
		return "NEVER"
	}
	return "REUSE_" + strconv.Itoa(int(r))
}

// ParseReuse reads what String spelled.
func ParseReuse(name string) (Reuse, error) { return named(Reuses[:], "reuse", name) }
