package sequence

import "time"

// HoldPause is how soon a step that waits for a deadline is to ask again while all of them are on hold.
const HoldPause = 30 * time.Second

// Outage is a time in which no process could hand out or settle numbers, so that silence counted for
// nothing. Times are the database's.
type Outage struct {
	ID       int64
	From, To time.Time
}

// covers reports whether a deadline ended in the outage.
func (o Outage) covers(deadline time.Time) bool {
	return !deadline.Before(o.From) && !deadline.After(o.To)
}

// shift gives those who could not speak as much time from the end of the outage as the rules give from
// the beginning.
func shift(rules BizType, n *Number, c Command) Outcome {
	if !c.Outage.covers(n.Deadline) {
		return OutcomeSuperseded
	}
	switch n.State {
	case Allocated:
		n.Deadline, n.Reason = c.Outage.To.Add(rules.ConfirmTimeout), ReasonOutage
	case Abandoned:
		n.Deadline = c.Outage.To.Add(rules.SafetyWindow)
	case Reserved, Confirmed, Replayable, Replayed, Dead, Retired:
		return OutcomeSuperseded
	}
	putDown(n) // whoever took it waits for the old deadline
	return OutcomeShifted
}
