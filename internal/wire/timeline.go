package wire

import (
	"slices"
	"time"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

// What stands in a timeline besides the outcomes of events.
const (
	whatIssued    = "ISSUED"
	whatAbandoned = "ABANDONED"
	whatConfirmed = "CONFIRMED"
	whatConflict  = "CONFLICT"
)

// History is what is known of a number.
type History struct {
	Number sequence.Number
	// Lives are those before the present one, Events and Conflicts of all of them, each oldest first.
	Lives     []Life
	Events    []Event
	Conflicts []Conflict
	RunURL    string // of the present life; empty where there is none to show
}

// Life is a life that ended before the number was issued again.
type Life struct {
	Ticket        sequence.Ticket
	BatchID       string
	BizKey        string
	IssuedTime    time.Time
	AbandonedTime time.Time
	Reason        string
	RunURL        string // empty where there is none to show
}

// Event is a transition that somebody may ask about later, and when it happened.
type Event struct {
	sequence.Event
	Time time.Time
}

// Conflict is where two holders of the number met.
type Conflict struct {
	Asked, Current             sequence.Ticket
	AskedBizKey, CurrentBizKey string
	Time                       time.Time
}

func (h History) message() *lacunav1.GetResponse {
	m := &lacunav1.GetResponse{Number: Number(h.Number), RunUrl: h.RunURL, Timeline: h.timeline()}
	for _, l := range h.Lives {
		m.PastLives = append(m.PastLives, &lacunav1.PastLife{
			Ticket: l.Ticket.String(), BatchId: l.BatchID, BizKey: l.BizKey,
			IssuedTime: Time(l.IssuedTime), AbandonedTime: Time(l.AbandonedTime), Reason: l.Reason, RunUrl: l.RunURL,
		})
	}
	return m
}

// timeline merges the lives, the events and the conflicts.
func (h History) timeline() []*lacunav1.TimelineEntry {
	var all []*lacunav1.TimelineEntry
	add := func(at time.Time, t sequence.Ticket, what, actor, reason, bizKey string) {
		if !at.IsZero() {
			all = append(all, &lacunav1.TimelineEntry{Time: Time(at), Ticket: t.String(), What: what, Actor: actor, Reason: reason, BizKey: bizKey})
		}
	}
	type step struct {
		ticket sequence.Ticket
		what   string
	}
	told := map[step]bool{}      // what a person did by hand is an event: it is not told again of the row
	for _, e := range h.Events { // before what they lead to in the same moment
		bizKey := ""
		if e.Outcome == sequence.OutcomeConfirmed {
			bizKey = h.Number.BizKey
		}
		add(e.Time, e.Ticket, e.Outcome.String(), e.Actor, e.Reason, bizKey)
		told[step{e.Ticket, e.Outcome.String()}] = true
	}
	settled := func(at time.Time, t sequence.Ticket, what, actor, reason, bizKey string) {
		if !told[step{t, what}] {
			add(at, t, what, actor, reason, bizKey)
		}
	}
	for _, l := range h.Lives {
		add(l.IssuedTime, l.Ticket, whatIssued, sequence.ActorLacuna, "", l.BizKey)
		settled(l.AbandonedTime, l.Ticket, whatAbandoned, actorOf(l.Reason), l.Reason, "")
	}
	if n := h.Number; n.Life > 0 {
		add(n.IssuedTime, n.Ticket(), whatIssued, sequence.ActorLacuna, "", n.BizKey)
		reason := ""
		if n.State != sequence.Confirmed && n.State != sequence.Dead && n.State != sequence.Retired { // they have reasons of their own
			reason = n.Reason
		}
		settled(n.AbandonedTime, n.Ticket(), whatAbandoned, actorOf(reason), reason, "")
		settled(n.ConfirmedTime, n.Ticket(), whatConfirmed, confirmedBy(n.Reason), n.Reason, n.BizKey)
	}
	for _, c := range h.Conflicts {
		add(c.Time, c.Asked, whatConflict, sequence.ActorCaller, "held by "+c.Current.String()+", "+c.CurrentBizKey, c.AskedBizKey)
	}
	slices.SortStableFunc(all, func(a, b *lacunav1.TimelineEntry) int { return a.GetTime().AsTime().Compare(b.GetTime().AsTime()) })
	return all
}

// actorOf says who a step is by whose reason is known; empty where that is not.
func actorOf(reason string) string {
	switch reason {
	case sequence.ReasonAbandoned:
		return sequence.ActorCaller
	case sequence.ReasonNotConfirmed, sequence.ReasonFound, sequence.ReasonCallerGone:
		return sequence.ActorLacuna
	}
	return ""
}

// confirmedBy is the caller, unless the business was asked or nobody had to be.
func confirmedBy(reason string) string {
	if reason == sequence.ReasonFound || reason == sequence.ReasonFinalAtIssue {
		return sequence.ActorLacuna
	}
	return sequence.ActorCaller
}
