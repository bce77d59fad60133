package sequence

import "fmt"

// Answer turns what a confirm, an abandon or an extend came to into what its caller is told: nil where the
// command did, or had already done, what was asked; otherwise an error that wraps ErrConflict,
// ErrStale, ErrAlreadyConfirmed, ErrTooLate, ErrOverLimit, ErrNotFound, ErrTicketRequired or, for OutcomePending,
// ErrUnavailable.
func Answer(c Command, d Decision) error {
	switch d.Outcome {
	case OutcomeConfirmed, OutcomeRescued, OutcomeAbandoned, OutcomeAlreadyAbandoned, OutcomeAccepted, OutcomeExtended:
		return nil
	case OutcomeAlreadyConfirmed:
		if c.Kind == Confirm {
			return nil
		}
		return refusal(c, d)
	case OutcomeConflict, OutcomeStale, OutcomeTooLate, OutcomeOverLimit:
		return refusal(c, d)
	case OutcomeTicketRequired:
		return fmt.Errorf("%s of %s: %w (now %s)", c.Ticket.SeqNo, c.Ticket.BizType, ErrTicketRequired, d.Number.Ticket())
	case OutcomePending:
		if d.SteppedBack {
			return &SteppedBackError{BizType: c.Ticket.BizType, Behind: 1}
		}
		if c.Ticket.Life > 0 {
			return &UnavailableError{What: fmt.Sprintf("%s is in the hands of an issuer that has not recorded yet what it did with it: repeat", c.Ticket)}
		}
	case OutcomeNotFound, OutcomeRecorded, OutcomeAlreadyRecorded, OutcomeHandedBack, OutcomeRecovered, OutcomeClaimed, OutcomeNotDue, OutcomeExpired,
		OutcomeUnchanged, OutcomeReplayable, OutcomeAlreadyReplayable, OutcomeRetired, OutcomeSuperseded,
		OutcomeUnprobed, OutcomeFound, OutcomeDead, OutcomeAlreadyDead, OutcomeRequeued, OutcomeWrittenOff, OutcomeNotDead,
		OutcomeTaken, OutcomeAlreadyTaken, OutcomeRetimed, OutcomeShifted, OutcomeTracked, OutcomeUntracked, OutcomeReleased:
	}
	if c.Ticket.Life == 0 {
		return fmt.Errorf("%s of %s: %w: it was never handed out", c.Ticket.SeqNo, c.Ticket.BizType, ErrNotFound)
	}
	return fmt.Errorf("%s: %w: this life was never handed out", c.Ticket, ErrNotFound)
}

func refusal(c Command, d Decision) error {
	asked := c.Ticket
	if asked.Life == 0 {
		asked.Life = d.Number.Life
	}
	return &RefusedError{Outcome: d.Outcome, Asked: asked, Current: d.Number.Ticket(), State: d.Number.State}
}
