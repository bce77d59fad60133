package sequence

import (
	"time"
	_ "time/tzdata" // a small image has no time zone database of its own
)

// Zone is a time zone of the IANA database. The zero Zone is UTC.
type Zone struct {
	location *time.Location
}

// ParseZone reads a name such as "Europe/Berlin"; "" is UTC. A name that the database does not have
// is an InvalidError of the field "timeZone".
func ParseZone(name string) (Zone, error) {
	if name == "" || name == "UTC" {
		return Zone{}, nil
	}
	location, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return Zone{}, Invalidf("timeZone", "%s is not a time zone of the IANA database", quote(name))
	}
	return Zone{location: location}, nil
}

// Of is the same time in the zone.
func (z Zone) Of(t time.Time) time.Time {
	if z.location == nil {
		return t.UTC()
	}
	return t.In(z.location)
}

// Wall is when a clock of the zone shows what a clock of UTC shows at t.
func (z Zone) Wall(t time.Time) time.Time {
	t = t.UTC()
	if z.location == nil {
		return t
	}
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), z.location).UTC()
}

// String is the name.
func (z Zone) String() string {
	if z.location == nil {
		return "UTC"
	}
	return z.location.String()
}
