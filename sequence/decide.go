package sequence

import "time"

// PoolCheckAfter is when a number that was put into the pool is looked for there.
const PoolCheckAfter = 10 * time.Minute

// MaxPoolLosses is how often in a row a number may be missing from the pool and be pushed again. A pool that
// has lost it once more, over 100 minutes, is not one that a further push repairs.
const MaxPoolLosses = 10

// Reasons that a row carries for the state it is in.
const (
	ReasonAbandoned    = "abandoned by its caller"
	ReasonCallerGone   = "its caller left before it was answered"
	ReasonNotConfirmed = "not confirmed in time"
	ReasonRecovered    = "its issuer died and may have handed it out"
	ReasonHandedBack   = "handed back without having been handed out"
	ReasonReplayCap    = "replayed as often as its biz type allows"
	ReasonReuseNever   = "its biz type issues no number again"
	ReasonFinalAtIssue = "final at its issue: its biz type waits for no confirm"
	ReasonPeriodOver   = "its period is over"
	ReasonJump         = "passed over when the source went on above it"
	ReasonExtended     = "its holder asked for more time"
	ReasonFound        = "found by probe"
	ReasonCancelled    = "cancelled by operator"
	ReasonOutage       = "its time ended while nobody could speak, and runs again"
	ReasonSteppedBack  = "the ledger stepped back, and the number may be in use"
	ReasonPoolLost     = "the pool lost it each time that it was pushed: see whether Redis evicts keys or is restarted without its data"
)

// Decision is what a command does to a number.
type Decision struct {
	// Number is the row after the command. It equals the row before unless Changed.
	Number  Number
	Changed bool
	Outcome Outcome
	// Wait is the time left to the row's deadline while it is Allocated or Abandoned, never below 0.
	Wait time.Duration
	// Pool is how the pool keeps the number while it is free.
	Pool PoolEntry
	// Probe is how the business is to be asked before the number is replayed; zero where it need not be.
	Probe Probe
	// RetryDelays are the pauses between the attempts to bring the number back.
	RetryDelays []time.Duration
	// Event is what the transition leaves in the number's timeline; nil for an ordinary one.
	Event *Event
	// MayHaveRun: somebody may have told a run of this life something that the row does not know.
	MayHaveRun bool
	// Cause is why the number died, where Outcome is OutcomeDead.
	Cause DeadCause
	// SteppedBack: nothing of the biz type is issued or brought back now. OutcomePending is then what nobody can
	// tell before an operator has raised the ledger.
	SteppedBack bool
}

// Decide says what a command does to a number under its biz type's rules. now is the
// database's time in the transaction that holds the row. Every transition of every number is
// decided here; a changed row has its version raised by one.
func Decide(rules BizType, n Number, c Command, now time.Time) Decision {
	d := Decision{Number: n}
	next := &d.Number
	c.OnHold = c.OnHold || rules.SteppedBack > 0
	switch c.Kind {
	case Record:
		d.Outcome = record(rules, next, c, now)
	case HandBack:
		d.Outcome = handBack(rules, next, c, now)
	case Recover:
		d.Outcome = recoverHeld(rules, next, c, now)
	case Claim:
		d.Outcome = claim(rules, next, c, now)
	case Confirm:
		d.Outcome = confirm(next, c, now)
	case Abandon:
		d.Outcome = abandon(rules, next, c, now)
	case Check:
		d.Outcome = check(rules, next, c, now)
	case Repool:
		d.Outcome = repool(rules, next, c, now)
	case Replay:
		d.Outcome = replay(rules, next, c, now)
	case Extend:
		d.Outcome = extend(rules, next, c, now)
	case Found:
		d.Outcome = found(next, c, now)
	case Bury:
		d.Outcome = bury(next, c)
	case Requeue:
		d.Outcome = requeue(rules, next, c, now)
	case WriteOff:
		d.Outcome = writeOff(next, c)
	case Take:
		d.Outcome = take(rules, next, c, now)
	case Retime:
		d.Outcome = retime(rules, next, now)
	case Shift:
		d.Outcome = shift(rules, next, c)
	case TrackIt:
		d.Outcome = track(rules, next, c, now)
	case Untrack:
		d.Outcome = untrack(next, c)
	case Release:
		d.Outcome = release(next, c)
	case Doubt:
		d.Outcome = doubt(next, c, now)
	}
	if d.SteppedBack = rules.SteppedBack > 0; d.SteppedBack && d.Outcome == OutcomeNotFound {
		d.Outcome = OutcomePending // it may have been handed out all the same
	}
	if d.Outcome == OutcomeDead {
		switch d.Cause = c.Cause; c.Kind {
		case Check:
			d.Cause = CauseNotConfirmed
		case Repool:
			d.Cause = CausePoolAway
		default:
		}
	}
	if d.Changed = d.Number != n; d.Changed {
		next.Version++
		d.Event = eventOf(n, c, d)
	}
	d.Wait, d.Pool, d.RetryDelays = wait(rules, d.Number, c, now), rules.PoolEntry(d.Number), rules.RetryDelays
	d.MayHaveRun = rules.MayHaveRun(d.Number)
	if next.State == Abandoned {
		d.Probe = rules.Probe
	}
	return d
}

// Unknown is the decision on a number that has no row.
func Unknown(rules BizType, c Command) Decision {
	d := Decision{Outcome: OutcomeNotFound, SteppedBack: rules.SteppedBack > 0}
	if d.SteppedBack && c.Kind.FromHolder() && c.Kind != Record {
		d.Outcome = OutcomePending // it may have been handed out all the same
	}
	return d
}

func record(rules BizType, n *Number, c Command, now time.Time) Outcome {
	switch {
	case n.State.Held() && n.Owner == c.Owner && n.BatchID == c.BatchID && n.NextLife() == c.Ticket.Life:
		if n.Life > 0 {
			n.Replays++
		}
		n.Life, n.Owner, n.BizKey, n.Tracked, n.Durable = c.Ticket.Life, "", c.BizKey, rules.tracksIssued() && !c.Untracked, false
		n.LifeUnsure = false
		n.IssuedTime, n.AbandonedTime, n.RetryTimes, n.Trace = now, time.Time{}, 0, c.Trace
		putDown(n)
		switch {
		case c.CallerGone:
			giveUp(rules, n, now, ReasonCallerGone)
			trackGivenUp(rules, n, c)
		case c.Final:
			hold(n, now, ReasonFinalAtIssue)
		default:
			n.State, n.Deadline, n.Reason = Allocated, now.Add(rules.ConfirmTimeout), ""
		}
		return OutcomeRecorded
	case !n.State.Held() && n.Life == c.Ticket.Life && n.BatchID == c.BatchID:
		if n.BizKey == "" {
			n.BizKey = c.BizKey
		}
		if n.Trace == "" {
			n.Trace = c.Trace
		}
		return OutcomeAlreadyRecorded
	case c.Waiting:
		return OutcomeSuperseded // nobody has been told of it
	case n.State == Dead && n.LifeUnsure:
		return OutcomeSuperseded // from before a step back: its holder's own confirm says it
	}
	return OutcomeConflict
}

func handBack(rules BizType, n *Number, c Command, now time.Time) Outcome {
	if !n.State.Held() || n.Owner != c.Owner || n.BatchID != c.BatchID {
		return OutcomeSuperseded
	}
	return giveBack(rules, n, now)
}

// giveBack frees a held number that was not handed out. It keeps the life that it had.
func giveBack(rules BizType, n *Number, now time.Time) Outcome {
	if rules.outOfPeriod(*n, now) {
		retire(n, ReasonPeriodOver)
		return OutcomeRetired
	}
	pool(n, now)
	return OutcomeHandedBack
}

// recoverHeld begins the life in which a dead issuer may have handed the number out: an unlogged
// holder's ticket fits exactly this life. Such a life counts as no replay. A number whose caller would
// have been answered after its record was handed to nobody.
func recoverHeld(rules BizType, n *Number, c Command, now time.Time) Outcome {
	if !n.State.Held() || n.Owner != c.Owner {
		return OutcomeSuperseded
	}
	if n.Durable {
		return giveBack(rules, n, now)
	}
	n.Life, n.State, n.Owner, n.BizKey, n.Tracked, n.LifeUnsure = n.NextLife(), Allocated, "", "", false, false
	n.IssuedTime, n.AbandonedTime, n.RetryTimes, n.Trace = now, time.Time{}, 0, ""
	putDown(n)
	n.Deadline, n.Reason = now.Add(rules.ConfirmTimeout+c.Lease), ReasonRecovered
	return OutcomeRecovered
}

func claim(rules BizType, n *Number, c Command, now time.Time) Outcome {
	if n.State != Replayable || rules.SteppedBack > 0 {
		return OutcomeSuperseded
	}
	if rules.outOfPeriod(*n, now) {
		retire(n, ReasonPeriodOver)
		return OutcomeRetired
	}
	// The window that counts is today's: one that was raised reaches numbers already pooled.
	if n.Life > 0 && now.Before(n.AbandonedTime.Add(rules.SafetyWindow)) {
		return OutcomeNotDue
	}
	n.State, n.Owner, n.BatchID, n.Deadline, n.Durable = Replayed, c.Owner, c.BatchID, time.Time{}, rules.DurableIssue
	return OutcomeClaimed
}

func confirm(n *Number, c Command, now time.Time) Outcome {
	if answer, decided := elsewhere(*n, c, OutcomeConflict); decided {
		return answer
	}
	outcome := OutcomeRescued
	switch n.State {
	case Reserved, Replayed:
		return OutcomePending // the claim ends this life, or is handed back and leaves it to rescue
	case Confirmed:
		if c.Ticket.Life > n.Life || c.BizKey != "" && n.BizKey != "" && c.BizKey != n.BizKey {
			return OutcomeConflict
		}
		return OutcomeAlreadyConfirmed
	case Allocated:
		outcome = OutcomeConfirmed
	case Abandoned, Replayable, Dead, Retired:
	}
	hold(n, now, "")
	if c.Ticket.Life > n.Life { // a life that the ledger forgot: when it began is not known any more
		n.Life, n.IssuedTime, n.AbandonedTime = c.Ticket.Life, now, time.Time{}
	}
	if c.BizKey != "" {
		n.BizKey = c.BizKey
	}
	return outcome
}

func abandon(rules BizType, n *Number, c Command, now time.Time) Outcome {
	if answer, decided := elsewhere(*n, c, OutcomeStale); decided {
		return answer
	}
	switch n.State {
	case Allocated:
		giveUp(rules, n, now, ReasonAbandoned)
		trackGivenUp(rules, n, c)
		return OutcomeAbandoned
	case Confirmed:
		return OutcomeAlreadyConfirmed
	case Reserved, Abandoned, Replayable, Replayed, Dead, Retired:
	}
	return OutcomeAlreadyAbandoned
}

// elsewhere answers a confirm or an abandon that does not mean the row's present life; older is
// the answer to one that means an earlier life.
func elsewhere(n Number, c Command, older Outcome) (Outcome, bool) {
	life := c.Ticket.Life
	if life == 0 { // named without a life: right while there has been exactly one
		if n.Life > 1 || n.LifeUnsure {
			return OutcomeTicketRequired, true
		}
		life = 1
	}
	switch {
	case life == n.Life:
		return 0, false
	case life < n.Life:
		return older, true
	case life == n.NextLife() && n.State.Held():
		return OutcomePending, true // its record may be on its way
	case n.LifeUnsure:
		return 0, false // it may have been handed out before the ledger stepped back
	}
	return OutcomeNotFound, true
}

func check(rules BizType, n *Number, c Command, now time.Time) Outcome {
	switch {
	case c.Ticket.Life == n.NextLife() && n.State.Held():
		return OutcomePending
	case c.Ticket.Life > n.Life:
		return OutcomeNotFound
	case c.Ticket.Life < n.Life:
		return OutcomeSuperseded
	case n.State != Allocated || c.OnHold || now.Before(n.Deadline):
		return OutcomeUnchanged
	case rules.OnTimeout == OnTimeoutDeadLetter:
		die(n, ReasonNotConfirmed)
		return OutcomeDead
	}
	giveUp(rules, n, now, ReasonNotConfirmed)
	return OutcomeExpired
}

func replay(rules BizType, n *Number, c Command, now time.Time) Outcome {
	switch {
	case n.Life != c.Ticket.Life || n.State != Abandoned && n.State != Replayable:
		return OutcomeSuperseded
	case n.State == Replayable:
		return OutcomeAlreadyReplayable
	case c.OnHold || now.Before(windowEnd(rules, *n)):
		return OutcomeNotDue
	case rules.Probe.Asks() && !c.Probed:
		return OutcomeUnprobed
	}
	if reason := retirement(rules, *n, now); reason != "" {
		retire(n, reason)
		return OutcomeRetired
	}
	pool(n, now)
	return OutcomeReplayable
}

// retirement says why a number that was given up is not issued again; "" where it is.
func retirement(rules BizType, n Number, now time.Time) string {
	switch {
	case rules.Reuse == ReuseNever:
		return ReasonReuseNever
	case rules.outOfPeriod(n, now):
		return ReasonPeriodOver
	case n.Replays >= int32(rules.MaxReplays):
		return ReasonReplayCap
	}
	return ""
}

// repool counts how often in a row the pool did not have the number. One that was never handed out cannot
// wait for a person, since nobody may hold it: it is pushed again without end.
func repool(rules BizType, n *Number, c Command, now time.Time) Outcome {
	switch {
	case n.State != Replayable:
		return OutcomeSuperseded
	case rules.outOfPeriod(*n, now):
		retire(n, ReasonPeriodOver)
		return OutcomeRetired
	case now.Before(n.Deadline):
		return OutcomeNotDue
	case c.Absent && n.Life > 0 && n.RetryTimes >= MaxPoolLosses:
		die(n, ReasonPoolLost)
		return OutcomeDead
	case c.Absent:
		n.RetryTimes++
	default:
		n.RetryTimes = 0
	}
	n.Deadline = now.Add(PoolCheckAfter)
	return OutcomeReplayable
}

// extend gives the holder as much time from now on as it asks for. Asked again it gives no more.
func extend(rules BizType, n *Number, c Command, now time.Time) Outcome {
	if answer, decided := elsewhere(*n, c, OutcomeStale); decided {
		return answer
	}
	until := now.Add(c.For)
	switch {
	case n.State == Confirmed:
		return OutcomeAlreadyConfirmed
	case n.State != Allocated || !now.Before(n.Deadline):
		return OutcomeTooLate
	case until.After(n.IssuedTime.Add(rules.ConfirmTimeout + rules.ExtendLimit)):
		return OutcomeOverLimit
	case until.After(n.Deadline):
		n.Deadline, n.Reason = until, ReasonExtended
	}
	return OutcomeExtended
}

// found confirms a number that the business turned out to hold.
func found(n *Number, c Command, now time.Time) Outcome {
	if n.Life == 0 || n.Life != c.Ticket.Life || n.State != Abandoned && n.State != Replayable {
		return OutcomeSuperseded
	}
	hold(n, now, ReasonFound)
	return OutcomeFound
}

// bury leaves a number to a person.
func bury(n *Number, c Command) Outcome {
	switch {
	case n.Life == 0 || n.Life != c.Ticket.Life:
		return OutcomeSuperseded
	case n.State == Dead:
		return OutcomeAlreadyDead
	case n.State == Abandoned, n.State == Replayable, n.State == Allocated && c.Cause == CauseCancelled:
		die(n, c.Reason)
		return OutcomeDead
	}
	return OutcomeSuperseded
}

// requeue sends a dead number back: into a full window, unless one has passed in this life. Which life this is must be
// known for that: one that the ledger has forgotten may have been given up just now.
func requeue(rules BizType, n *Number, c Command, now time.Time) Outcome {
	if n.Life != c.Ticket.Life || n.State != Dead {
		return OutcomeNotDead
	}
	if rules.SteppedBack > 0 {
		return OutcomeNotDue
	}
	abandoned := n.AbandonedTime
	giveUp(rules, n, now, c.Reason)
	if n.RetryTimes = 0; !n.LifeUnsure && !abandoned.IsZero() && !now.Before(abandoned.Add(rules.SafetyWindow)) {
		n.AbandonedTime, n.Deadline = abandoned, now
	}
	n.Tracked = false // its run has closed
	putDown(n)
	return OutcomeRequeued
}

// writeOff declares the gap of a dead number.
func writeOff(n *Number, c Command) Outcome {
	if n.Life != c.Ticket.Life || n.State != Dead {
		return OutcomeNotDead
	}
	retire(n, c.Reason)
	return OutcomeWrittenOff
}

// take keeps others from seeing to an overdue number for as long as its window and all its retries may
// last, or until its taker has gone. Its holder may still settle it.
func take(rules BizType, n *Number, c Command, now time.Time) Outcome {
	switch {
	case n.Life != c.Ticket.Life || n.State != Allocated && n.State != Abandoned || c.OnHold || now.Before(n.Deadline):
		return OutcomeSuperseded
	case now.Before(n.TakenUntil) && n.TakenBy != c.Taker:
		return OutcomeAlreadyTaken
	case n.State == Abandoned && !rules.Probe.Asks() && !rules.MayHaveRun(*n) && !now.Before(windowEnd(rules, *n)):
		return OutcomeTaken // nobody is to be asked: one step brings it back, and whoever comes first takes it
	}
	n.TakenUntil, n.TakenBy = now.Add(rules.SafetyWindow+c.For), c.Taker
	for _, d := range rules.RetryDelays {
		n.TakenUntil = n.TakenUntil.Add(2 * d) // of the probe, and of the push
	}
	return OutcomeTaken
}

// release lets others see to a number whose taker has gone.
func release(n *Number, c Command) Outcome {
	if n.Life != c.Ticket.Life || n.TakenUntil.IsZero() || n.TakenBy != c.Taker {
		return OutcomeSuperseded
	}
	putDown(n)
	return OutcomeReleased
}

// putDown says that no Compensation sees to the number any more.
func putDown(n *Number) { n.TakenUntil, n.TakenBy = time.Time{}, "" }

// retime moves the deadline to where the rules of now put it, but not into the past. Time that a
// holder asked for, or got because its issuer died, is not taken away.
func retime(rules BizType, n *Number, now time.Time) Outcome {
	var deadline time.Time
	switch n.State {
	case Allocated:
		deadline = n.IssuedTime.Add(rules.ConfirmTimeout)
		if n.Reason != "" && n.Deadline.After(deadline) {
			deadline = n.Deadline
		}
	case Abandoned:
		deadline = n.AbandonedTime.Add(rules.SafetyWindow)
	case Reserved, Confirmed, Replayable, Replayed, Dead, Retired:
		return OutcomeSuperseded
	}
	if deadline.Before(now) {
		deadline = now
	}
	if deadline.Equal(n.Deadline) || !deadline.After(now) && !n.Deadline.After(now) {
		return OutcomeUnchanged
	}
	n.Deadline = deadline
	putDown(n) // whoever took it waits for the old deadline
	return OutcomeRetimed
}

// hold says that the number is in business use, for good.
func hold(n *Number, now time.Time, reason string) {
	n.State, n.ConfirmedTime, n.Deadline, n.Reason = Confirmed, now, time.Time{}, reason
	putDown(n)
}

// die leaves the number to a person.
func die(n *Number, reason string) {
	n.State, n.Deadline, n.Reason = Dead, time.Time{}, reason
	putDown(n)
}

// giveUp starts the safety window.
func giveUp(rules BizType, n *Number, now time.Time, reason string) {
	n.State, n.AbandonedTime, n.Deadline, n.Reason = Abandoned, now, now.Add(rules.SafetyWindow), reason
}

// pool frees the number to be issued again. It keeps why its life ended.
func pool(n *Number, now time.Time) {
	n.State, n.Owner, n.Deadline, n.Durable = Replayable, "", now.Add(PoolCheckAfter), false
	n.RetryTimes = 0
	putDown(n)
	if n.Life == 0 {
		n.Reason = ReasonHandedBack
	}
}

// retire declares the number's gap: it is never issued again.
func retire(n *Number, reason string) {
	n.State, n.Owner, n.Deadline, n.Reason, n.Durable = Retired, "", time.Time{}, reason, false
	putDown(n)
}

// windowEnd is the later of the window that the number was given and the one that is set now.
func windowEnd(rules BizType, n Number) time.Time {
	if end := n.AbandonedTime.Add(rules.SafetyWindow); end.After(n.Deadline) {
		return end
	}
	return n.Deadline
}

func wait(rules BizType, n Number, c Command, now time.Time) time.Duration {
	least := time.Duration(0)
	if c.OnHold {
		least = HoldPause
	}
	switch n.State {
	case Allocated:
		return max(least, n.Deadline.Sub(now))
	case Abandoned:
		return max(least, windowEnd(rules, n).Sub(now))
	case Reserved, Confirmed, Replayable, Replayed, Dead, Retired:
	}
	return 0
}
