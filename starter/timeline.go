package main

import (
	"context"
	"slices"
	"time"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// What stands in a timeline besides the outcomes of events.
const (
	whatIssued    = "ISSUED"
	whatAbandoned = "ABANDONED"
	whatConfirmed = "CONFIRMED"
	whatConflict  = "CONFLICT"
)

// timeline merges what the ledger keeps of a number: its lives, its events and its conflicts.
func (s *sequenceService) timeline(ctx context.Context, n sequence.Number, lives []ledger.Life) ([]*lacunav1.TimelineEntry, error) {
	events, err := s.ledger.Events(ctx, n.BizType, n.SeqNo)
	if err != nil {
		return nil, err
	}
	conflicts, err := s.ledger.ConflictsOf(ctx, n.BizType, n.SeqNo)
	if err != nil {
		return nil, err
	}
	var all []*lacunav1.TimelineEntry
	add := func(at time.Time, t sequence.Ticket, what, actor, reason, bizKey string) {
		if !at.IsZero() {
			all = append(all, &lacunav1.TimelineEntry{Time: timeMessage(at), Ticket: t.String(), What: what, Actor: actor, Reason: reason, BizKey: bizKey})
		}
	}
	type step struct {
		ticket sequence.Ticket
		what   string
	}
	told := map[step]bool{}    // what a person did by hand is an event: it is not told again of the row
	for _, e := range events { // before what they lead to in the same moment
		bizKey := ""
		if e.Outcome == sequence.OutcomeConfirmed {
			bizKey = n.BizKey
		}
		add(e.Time, e.Ticket, e.Outcome.String(), e.Actor, e.Reason, bizKey)
		told[step{e.Ticket, e.Outcome.String()}] = true
	}
	settled := func(at time.Time, t sequence.Ticket, what, actor, reason, bizKey string) {
		if !told[step{t, what}] {
			add(at, t, what, actor, reason, bizKey)
		}
	}
	for _, l := range lives {
		add(l.IssuedTime, l.Ticket, whatIssued, sequence.ActorLacuna, "", l.BizKey)
		settled(l.AbandonedTime, l.Ticket, whatAbandoned, actorOf(l.Reason), l.Reason, "")
	}
	if n.Life > 0 {
		add(n.IssuedTime, n.Ticket(), whatIssued, sequence.ActorLacuna, "", n.BizKey)
		reason := ""
		if n.State != sequence.Confirmed && n.State != sequence.Dead && n.State != sequence.Retired { // they have reasons of their own
			reason = n.Reason
		}
		settled(n.AbandonedTime, n.Ticket(), whatAbandoned, actorOf(reason), reason, "")
		settled(n.ConfirmedTime, n.Ticket(), whatConfirmed, confirmedBy(n.Reason), n.Reason, n.BizKey)
	}
	for _, c := range conflicts {
		add(c.DetectedTime, c.Asked, whatConflict, sequence.ActorCaller, "held by "+c.Current.String()+", "+c.CurrentBizKey, c.AskedBizKey)
	}
	slices.SortStableFunc(all, func(a, b *lacunav1.TimelineEntry) int { return a.GetTime().AsTime().Compare(b.GetTime().AsTime()) })
	return all, nil
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

// confirmedBy is the caller, unless the business was asked.
func confirmedBy(reason string) string {
	if reason == sequence.ReasonFound {
		return sequence.ActorLacuna
	}
	return sequence.ActorCaller
}
