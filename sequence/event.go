package sequence

import "strings"

// Actors of events that no person caused.
const (
	ActorCaller = "caller" // the holder of the number
	ActorLacuna = "lacuna" // Lacuna's own steps
)

// MaxActor bounds an actor's name, in bytes.
const MaxActor = 128

// Event is a transition that somebody may ask about later: one that is out of the ordinary, or an
// act of a person, who gives a reason.
type Event struct {
	Ticket   Ticket
	Actor    string
	Outcome  Outcome
	From, To State
	Reason   string
}

// eventOf says whether a decision is worth an event, and which.
func eventOf(was Number, c Command, d Decision) *Event {
	actor := ActorLacuna
	switch d.Outcome {
	case OutcomeRescued:
		actor = ActorCaller
	case OutcomeConfirmed, OutcomeAbandoned:
		if c.Reason == "" {
			return nil
		}
		actor = ActorCaller
	case OutcomeRecovered, OutcomeRetired, OutcomeFound, OutcomeDead, OutcomeRequeued, OutcomeWrittenOff:
	default:
		return nil
	}
	if c.Actor != "" {
		actor = c.Actor
	}
	reason := d.Number.Reason
	if byHand := c.Kind == Confirm || c.Kind == Abandon; reason == "" || byHand && c.Reason != "" {
		reason = c.Reason
	}
	return &Event{Ticket: d.Number.Ticket(), Actor: actor, Outcome: d.Outcome, From: was.State, To: d.Number.State, Reason: reason}
}

// ValidateActor refuses a name that would say nothing about who acted.
func ValidateActor(actor string) error {
	if strings.TrimSpace(actor) == "" {
		return Invalidf("actor", "is missing: say who acts")
	}
	return validateText("actor", actor, MaxActor)
}

// ValidateReason refuses a reason that could not be kept.
func ValidateReason(reason string) error {
	if strings.TrimSpace(reason) == "" {
		return Invalidf("reason", "is missing: say why")
	}
	return validateText("reason", reason, MaxReason)
}
