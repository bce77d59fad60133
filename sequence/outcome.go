package sequence

import "strconv"

// Outcome is what a command came to. Its String is the metric label and, for the outcomes of
// confirm and abandon, the name in the API without its prefix.
type Outcome int8

// Outcomes of confirm, abandon and extend. NotFound, TicketRequired and Pending answer all of them.
const (
	// OutcomeConfirmed: this command confirmed the number.
	OutcomeConfirmed Outcome = iota + 1
	// OutcomeAlreadyConfirmed: this life was confirmed before. To an abandon it is a refusal.
	OutcomeAlreadyConfirmed
	// OutcomeRescued: confirmed although this life had been given up; it is not issued again.
	OutcomeRescued
	// OutcomeAbandoned: this command abandoned the number; its window runs.
	OutcomeAbandoned
	// OutcomeAlreadyAbandoned: this life was given up before.
	OutcomeAlreadyAbandoned
	// OutcomeConflict: the number was issued again, or another biz key has confirmed this life.
	OutcomeConflict
	// OutcomeStale: an abandon of an older life; nothing happens.
	OutcomeStale
	// OutcomeNotFound: this life was never handed out.
	OutcomeNotFound
	// OutcomeTicketRequired: named without a life, and there has been more than one.
	OutcomeTicketRequired
	// OutcomePending: the number is in an issuer's memory. Either the record of this life's
	// hand-out is on its way, or the claim that would end this life is not decided. Ask again.
	OutcomePending
	// OutcomeAccepted is no decision: the ledger is away and Temporal holds the command.
	OutcomeAccepted
	// OutcomeExtended: the holder has more time.
	OutcomeExtended
	// OutcomeTooLate: an extension was asked for after the time to confirm.
	OutcomeTooLate
	// OutcomeOverLimit: an extension would go past what the biz type allows.
	OutcomeOverLimit
)

// Outcomes of the steps that issuers and lifecycles take.
const (
	// OutcomeRecorded: the hand-out stands in the ledger.
	OutcomeRecorded Outcome = iota + 32
	// OutcomeAlreadyRecorded: it stood there before.
	OutcomeAlreadyRecorded
	// OutcomeHandedBack: the held number is in the pool.
	OutcomeHandedBack
	// OutcomeRecovered: the number of a dead issuer began the life in which it may have been handed out.
	OutcomeRecovered
	// OutcomeClaimed: the number left the pool for this issuer's memory.
	OutcomeClaimed
	// OutcomeNotDue: asked before the time; Decision.Wait is what is left. Not a failure.
	OutcomeNotDue
	// OutcomeExpired: nobody confirmed in time; the window runs.
	OutcomeExpired
	// OutcomeUnchanged: a check found nothing to do.
	OutcomeUnchanged
	// OutcomeReplayable: the window is over and the number may be pushed to the pool.
	OutcomeReplayable
	// OutcomeAlreadyReplayable: it was so before; pushing again is harmless.
	OutcomeAlreadyReplayable
	// OutcomeRetired: it is never issued again; a declared gap.
	OutcomeRetired
	// OutcomeSuperseded: the number has moved on; the command has nothing left to do.
	OutcomeSuperseded
	// OutcomeUnprobed: its biz type asks the business before a number is replayed, and nobody has.
	OutcomeUnprobed
	// OutcomeFound: the business holds the number, so it is confirmed.
	OutcomeFound
	// OutcomeDead: the number waits for a person.
	OutcomeDead
	// OutcomeAlreadyDead: it did so before.
	OutcomeAlreadyDead
	// OutcomeRequeued: a person sent it back on its way to the pool.
	OutcomeRequeued
	// OutcomeWrittenOff: a person declared its gap.
	OutcomeWrittenOff
	// OutcomeNotDead: it does not wait for a person, or no longer.
	OutcomeNotDead
	// OutcomeTaken: a Compensation sees to it.
	OutcomeTaken
	// OutcomeAlreadyTaken: another one does.
	OutcomeAlreadyTaken
	// OutcomeRetimed: its deadline follows the rules of now.
	OutcomeRetimed
	// OutcomeShifted: its deadline ended in an outage, and runs again from its end.
	OutcomeShifted
	// OutcomeTracked: it has a run of its own from now on.
	OutcomeTracked
	// OutcomeUntracked: it has none any more that anybody counts on.
	OutcomeUntracked
	// OutcomeReleased: nobody has taken it any more.
	OutcomeReleased
)

// Outcomes lists every outcome, for tests and tables.
var Outcomes = [...]Outcome{
	OutcomeConfirmed, OutcomeAlreadyConfirmed, OutcomeRescued, OutcomeAbandoned, OutcomeAlreadyAbandoned,
	OutcomeConflict, OutcomeStale, OutcomeNotFound, OutcomeTicketRequired, OutcomePending, OutcomeAccepted,
	OutcomeExtended, OutcomeTooLate, OutcomeOverLimit,
	OutcomeRecorded, OutcomeAlreadyRecorded, OutcomeHandedBack, OutcomeRecovered, OutcomeClaimed, OutcomeNotDue, OutcomeExpired,
	OutcomeUnchanged, OutcomeReplayable, OutcomeAlreadyReplayable, OutcomeRetired, OutcomeSuperseded,
	OutcomeUnprobed, OutcomeFound, OutcomeDead, OutcomeAlreadyDead, OutcomeRequeued, OutcomeWrittenOff, OutcomeNotDead,
	OutcomeTaken, OutcomeAlreadyTaken, OutcomeRetimed, OutcomeShifted, OutcomeTracked, OutcomeUntracked,
	OutcomeReleased,
}

// String is the outcome in capitals, e.g. "ALREADY_CONFIRMED".
func (o Outcome) String() string {
	switch o {
	case OutcomeConfirmed:
		return "CONFIRMED"
	case OutcomeAlreadyConfirmed:
		return "ALREADY_CONFIRMED"
	case OutcomeRescued:
		return "RESCUED"
	case OutcomeAbandoned:
		return "ABANDONED"
	case OutcomeAlreadyAbandoned:
		return "ALREADY_ABANDONED"
	case OutcomeConflict:
		return "CONFLICT"
	case OutcomeStale:
		return "STALE"
	case OutcomeNotFound:
		return "NOT_FOUND"
	case OutcomeTicketRequired:
		return "TICKET_REQUIRED"
	case OutcomePending:
		return "PENDING"
	case OutcomeAccepted:
		return "ACCEPTED"
	case OutcomeRecorded:
		return "RECORDED"
	case OutcomeAlreadyRecorded:
		return "ALREADY_RECORDED"
	case OutcomeHandedBack:
		return "HANDED_BACK"
	case OutcomeRecovered:
		return "RECOVERED"
	case OutcomeClaimed:
		return "CLAIMED"
	case OutcomeNotDue:
		return "NOT_DUE"
	case OutcomeExpired:
		return "EXPIRED"
	case OutcomeUnchanged:
		return "UNCHANGED"
	case OutcomeReplayable:
		return "REPLAYABLE"
	case OutcomeAlreadyReplayable:
		return "ALREADY_REPLAYABLE"
	case OutcomeRetired:
		return "RETIRED"
	case OutcomeSuperseded:
		return "SUPERSEDED"
	case OutcomeExtended:
		return "EXTENDED"
	case OutcomeTooLate:
		return "TOO_LATE"
	case OutcomeOverLimit:
		return "OVER_LIMIT"
	case OutcomeUnprobed:
		return "UNPROBED"
	case OutcomeFound:
		return "FOUND"
	case OutcomeDead:
		return "DEAD"
	case OutcomeAlreadyDead:
		return "ALREADY_DEAD"
	case OutcomeRequeued:
		return "REQUEUED"
	case OutcomeWrittenOff:
		return "WRITTEN_OFF"
	case OutcomeNotDead:
		return "NOT_DEAD"
	case OutcomeTaken:
		return "TAKEN"
	case OutcomeAlreadyTaken:
		return "ALREADY_TAKEN"
	case OutcomeRetimed:
		return "RETIMED"
	case OutcomeShifted:
		return "SHIFTED"
	case OutcomeTracked:
		return "TRACKED"
	case OutcomeUntracked:
		return "UNTRACKED"
	case OutcomeReleased:
		return "RELEASED"
	}
	return "OUTCOME_" + strconv.Itoa(int(o))
}

// MarshalText spells the outcome by its name, in workflow inputs and results.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what MarshalText spelled.
func (o *Outcome) UnmarshalText(text []byte) error {
	for _, known := range Outcomes {
		if known.String() == string(text) {
			*o = known
			return nil
		}
	}
	return Invalidf("outcome", "%s is not the name of an outcome", quote(string(text)))
}
