package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// Prefixes of the API's enums, which people need not read.
const (
	statePrefix   = "STATE_"
	outcomePrefix = "OUTCOME_"
	causePrefix   = "DEAD_CAUSE_"
)

func stateName(s lacunav1.State) string     { return strings.TrimPrefix(s.String(), statePrefix) }
func causeName(c lacunav1.DeadCause) string { return strings.TrimPrefix(c.String(), causePrefix) }

// stateFlag is a state by its name, in any case.
type stateFlag struct{ state *lacunav1.State }

// UnmarshalText reads a name.
func (f *stateFlag) UnmarshalText(text []byte) error {
	code, err := enumCode(lacunav1.State_value, statePrefix, string(text))
	if err != nil {
		return err
	}
	f.state = lacunav1.State(code).Enum()
	return nil
}

// causeFlag is why a number is a dead letter, by its name in any case.
type causeFlag struct{ cause lacunav1.DeadCause }

// UnmarshalText reads a name.
func (f *causeFlag) UnmarshalText(text []byte) error {
	code, err := enumCode(lacunav1.DeadCause_value, causePrefix, string(text))
	f.cause = lacunav1.DeadCause(code)
	return err
}

// enumCode looks a name up, without its prefix; the error lists those that there are.
func enumCode(codes map[string]int32, prefix, name string) (int32, error) {
	spelled := prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	if code, ok := codes[spelled]; ok && !strings.HasSuffix(spelled, "_UNSPECIFIED") {
		return code, nil
	}
	var names []string
	for known := range codes {
		if !strings.HasSuffix(known, "_UNSPECIFIED") {
			names = append(names, strings.TrimPrefix(known, prefix))
		}
	}
	slices.Sort(names)
	return 0, fmt.Errorf("%q is none of %s", name, strings.Join(names, ", "))
}

// moment is a time that a flag names: 2026-12-01T10:00:00Z, 2026-12-01 (in UTC), or 2h for so long ago by this
// machine's clock.
type moment struct{ time.Time }

// UnmarshalText reads one of the forms.
func (m *moment) UnmarshalText(text []byte) error {
	if ago, err := time.ParseDuration(string(text)); err == nil {
		m.Time = time.Now().Add(-ago)
		return nil
	}
	for _, form := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(form, string(text)); err == nil {
			m.Time = at
			return nil
		}
	}
	return fmt.Errorf("%q is no time: write 2026-12-01T10:00:00Z, 2026-12-01, or 2h for two hours ago", text)
}

// message is the time for the API; nil where the flag was left out.
func (m moment) message() *timestamppb.Timestamp {
	if m.IsZero() {
		return nil
	}
	return timestamppb.New(m.Time)
}

// stamp is a time to the millisecond, in UTC; "" for none.
func stamp(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format("2006-01-02T15:04:05.000Z")
}

func seconds(d *durationpb.Duration) string { return d.AsDuration().String() }

// counted is "1 number", "2 numbers".
func counted[N int | int32 | int64](n N, what string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
