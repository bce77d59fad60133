package sequence

import (
	"strconv"
	"time"
)

// Track says which numbers have a run of their own in Temporal. The others are seen to in batches; the
// states, the steps and the guarantees are the same.
type Track int8

const (
	// TrackEvery is each number that is handed out.
	TrackEvery Track = iota + 1
	// TrackUnsettled is what is abandoned, or not confirmed soon.
	TrackUnsettled
	// TrackNone is no number at all.
	TrackNone
)

// Tracks lists every policy.
var Tracks = [...]Track{TrackEvery, TrackUnsettled, TrackNone}

// DefaultTrackAfter is how soon a number is to be settled that needs no run under TrackUnsettled.
const DefaultTrackAfter = 5 * time.Second

// Bounds of it.
const (
	MinTrackAfter = 100 * time.Millisecond
	MaxTrackAfter = time.Hour
)

// String is the policy in capitals, e.g. "UNSETTLED".
func (t Track) String() string {
	switch t {
	case TrackEvery:
		return "EVERY"
	case TrackUnsettled:
		return "UNSETTLED"
	case TrackNone:
		return "NONE"
	}
	return "TRACK_" + strconv.Itoa(int(t))
}

// ParseTrack reads what String spelled.
func ParseTrack(name string) (Track, error) { return named(Tracks[:], "track", name) }

// tracksIssued reports whether a number has a run from its hand-out on.
func (b BizType) tracksIssued() bool { return b.Track != TrackUnsettled && b.Track != TrackNone }

// MayHaveRun reports whether somebody may have told a run of the number's present life something that
// its row does not know.
func (b BizType) MayHaveRun(n Number) bool {
	return n.Tracked || b.DirectSignals && b.Track != TrackNone
}

// track gives the number a run of its own from now on. One that a Compensation sees to is left to it.
func track(rules BizType, n *Number, c Command, now time.Time) Outcome {
	switch {
	case n.Life != c.Ticket.Life || n.State != Allocated && n.State != Abandoned:
		return OutcomeSuperseded
	case n.Tracked || rules.Track == TrackNone || now.Before(n.TakenUntil):
		return OutcomeSuperseded
	}
	n.Tracked = true
	return OutcomeTracked
}

// untrack leaves the number to the patrol. A run that it has all the same follows the row.
func untrack(n *Number, c Command) Outcome {
	if n.Life != c.Ticket.Life || n.State != Allocated && n.State != Abandoned || !n.Tracked {
		return OutcomeSuperseded
	}
	n.Tracked = false
	return OutcomeUntracked
}

// trackGivenUp says whether a number has a run after its holder, or nobody, gave it up.
func trackGivenUp(rules BizType, n *Number, c Command) {
	switch {
	case c.Untracked:
		n.Tracked = false
	case rules.Track == TrackUnsettled:
		n.Tracked = true
	}
}
