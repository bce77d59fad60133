package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

// LifecycleInput starts the run of one life of one number.
type LifecycleInput struct {
	// Ticket is also the workflow ID.
	Ticket string `json:"ticket"`
}

// LifecycleResult is how the run ended.
type LifecycleResult struct {
	// Outcome of the last step: UNCHANGED (the row stood where State says), REPLAYABLE or
	// ALREADY_REPLAYABLE (it is in the pool), RETIRED, SUPERSEDED (the number has moved on to
	// another life) or NOT_FOUND (this life was never handed out).
	Outcome sequence.Outcome `json:"outcome"`
	// State is the row's; with SUPERSEDED and NOT_FOUND it is not this life's.
	State  sequence.State `json:"state"`
	Reason string         `json:"reason,omitempty"`
}

// LifecycleState answers the query "state".
type LifecycleState struct {
	Ticket string `json:"ticket"`
	// State is the row's at the last look.
	State sequence.State `json:"state"`
	// Until is when the run looks again by itself; zero while it works.
	Until     time.Time `json:"until"`
	Signals   int       `json:"signals"`
	Malformed int       `json:"malformed"`
}

// NumberLifecycle takes one life of one number from its hand-out to its end: confirmed, back in
// the pool, or retired. It settles the row first and then does what the row asks for; a command
// that comes by signal is settled before any other step, and signals are read once more before
// the run closes. It has no timeout of its own: only its row ends it.
//
// A run that is cancelled, or that could not bring its number back, leaves the number to a person: the
// row becomes DEAD, and the run closes as Canceled, or as Failed with an error of the type DeadLetter,
// unless its number turns out to be confirmed. A run that was reset to its first workflow task and finds
// its number DEAD sends it back on its way, once.
func NumberLifecycle(ctx workflow.Context, in LifecycleInput) (LifecycleResult, error) {
	if _, err := sequence.ParseTicket(in.Ticket); err != nil {
		return LifecycleResult{}, temporal.NewNonRetryableApplicationError(err.Error(), activities.ErrorInvalidInput, err)
	}
	l := &lifecycle{ctx: ctx, inbox: newInbox(ctx), state: LifecycleState{Ticket: in.Ticket, State: sequence.Allocated}, shown: sequence.Allocated}
	if err := workflow.SetQueryHandler(ctx, QueryState, func() (LifecycleState, error) { return l.state, nil }); err != nil {
		return LifecycleResult{}, err
	}
	return l.run()
}

// lifecycle is the run's memory.
type lifecycle struct {
	ctx     workflow.Context
	inbox   *inbox
	state   LifecycleState
	shown   sequence.State // what SeqState says
	pending time.Time      // since when an issuer's memory holds the answer; zero while it does not
	looks   int            // how often it has looked at the row
	reset   *bool          // whether this run was made by a reset; nil while nobody asked
	buried  bool           // it has left its number to a person
	movedOn bool           // it could not: the number is another life's, or confirmed
	failure error          // why the run closes although its row would let it go on
}

// run takes step after step until one ends the life and no command is left to settle.
func (l *lifecycle) run() (LifecycleResult, error) {
	l.forgetCancel()
	for {
		end, err := l.step()
		switch {
		case err != nil && l.failure != nil:
			return LifecycleResult{}, l.failure
		case err != nil:
			l.failure = l.bury(err)
			continue
		case end == nil:
			continue
		}
		if l.inbox.drain(); len(l.inbox.commands) > 0 {
			continue
		}
		if l.failure != nil && l.buryAgain(end) {
			l.failure = l.bury(l.failure)
			continue
		}
		if l.failure != nil && end.State != sequence.Confirmed && !l.movedOn {
			return LifecycleResult{}, l.failure
		}
		return *end, nil
	}
}

// step settles the row and does what it asks for. It gives nil where the row is to be looked at
// again, and otherwise how the life ended.
func (l *lifecycle) step() (*LifecycleResult, error) {
	settled, err := l.settle()
	if err != nil {
		return nil, err
	}
	end := &LifecycleResult{Outcome: settled.Outcome, State: settled.State, Reason: settled.Reason}
	switch {
	case settled.Outcome == sequence.OutcomePending && l.waited() >= recordPatience:
		l.inbox.take() // the life was never handed out, so no command can mean it
		end.Outcome = sequence.OutcomeNotFound
		return end, nil
	case l.undecided():
		return nil, l.wait(min(max(l.waited(), pendingRetry), maxPendingRetry), "an issuer holds the answer")
	case settled.Outcome == sequence.OutcomeNotFound, settled.Outcome == sequence.OutcomeSuperseded:
		return end, nil
	}
	l.show(settled.State)
	l.looks++
	switch {
	case l.failure != nil:
	case settled.State == sequence.Dead:
		if lifted, err := l.lift(settled); lifted || err != nil {
			return nil, err
		}
		l.failure = deadLetter(settled.Reason)
	case settled.State == sequence.Allocated:
		return nil, l.wait(settled.Wait, "wait for a confirm")
	case settled.State == sequence.Abandoned && settled.Wait > 0:
		return nil, l.wait(settled.Wait, "safety window")
	case settled.State == sequence.Abandoned, settled.State == sequence.Replayable:
		return l.replay(settled.Probe)
	}
	return end, nil
}

// wait sleeps for d or until the next signal.
func (l *lifecycle) wait(d time.Duration, why string) error {
	ctx, cancel := workflow.WithCancel(l.ctx)
	defer cancel()
	l.state.Until = workflow.Now(ctx).Add(d)
	timer := workflow.NewTimerWithOptions(ctx, d, workflow.TimerOptions{Summary: why})
	selector := workflow.NewSelector(ctx)
	var err error
	selector.AddFuture(timer, func(f workflow.Future) { err = f.Get(ctx, nil) })
	l.inbox.watch(selector)
	selector.Select(ctx)
	return err
}

// show keeps the search attribute SeqState true, and spends an event only where it changes.
func (l *lifecycle) show(state sequence.State) {
	if state == l.shown {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(l.ctx, AttributeSeqState.ValueSet(state.String())); err != nil {
		workflow.GetLogger(l.ctx).Warn("SeqState could not be set", "ticket", l.state.Ticket, "error", err)
		return
	}
	l.shown = state
}
