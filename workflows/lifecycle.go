package workflows

import (
	"fmt"
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
	// Outcome of the last step: UNCHANGED (the row stood where State says), REPLAYABLE, RETIRED,
	// SUPERSEDED (the number has moved on to another life) or NOT_FOUND (never handed out).
	Outcome sequence.Outcome `json:"outcome"`
	State   sequence.State   `json:"state"`
	Reason  string           `json:"reason,omitempty"`
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

// A number that nobody has handed out on record may still be on its way to the ledger for this
// long: twice the time for which an issuer may keep a hand-out to itself.
const recordPatience = 20 * time.Second

// recordRetry is how often the run looks for such a record.
const recordRetry = 5 * time.Second

// NumberLifecycle takes one life of one number from its hand-out to its end: confirmed, back in
// the pool, or retired. It settles the row first and then does what the row asks for; a command
// that comes by signal is settled before any other step, and signals are read once more before
// the run closes. It has no timeout of its own: only its row ends it.
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
	ctx   workflow.Context
	inbox *inbox
	state LifecycleState
	shown sequence.State // what SeqState says

	settling     []activities.Command // what the last settle carried out
	pendingSince time.Time
}

func (l *lifecycle) run() (LifecycleResult, error) {
	for {
		settled, err := l.settle()
		if err != nil {
			return LifecycleResult{}, err
		}
		end := LifecycleResult{Outcome: settled.Outcome, State: settled.State, Reason: settled.Reason}
		switch {
		case l.undecided(settled):
			err = l.wait(recordRetry, "look for what an issuer has not recorded yet")
		case settled.Outcome == sequence.OutcomePending, settled.Outcome == sequence.OutcomeNotFound:
			return LifecycleResult{Outcome: sequence.OutcomeNotFound, State: settled.State}, nil
		case settled.Outcome == sequence.OutcomeSuperseded:
			return end, nil
		case settled.State == sequence.Allocated:
			err = l.wait(settled.Wait, "wait for a confirm")
		case settled.State == sequence.Abandoned && settled.Wait > 0:
			l.show(settled.State)
			err = l.wait(settled.Wait, "safety window")
		case settled.State == sequence.Abandoned, settled.State == sequence.Replayable:
			if end, err = l.replay(); err == nil && l.over(end) {
				return end, nil
			}
		case l.over(end):
			return end, nil
		}
		if err != nil {
			return LifecycleResult{}, err
		}
	}
}

// undecided reports whether an issuer still holds the answer: the record of this life's hand-out,
// or the decision of the claim that would end it. What waits for it is kept and settled again,
// until the patience ends.
func (l *lifecycle) undecided(settled activities.SettleResult) bool {
	pending := settled.Outcome == sequence.OutcomePending
	for i, outcome := range settled.Commands {
		if outcome == sequence.OutcomePending {
			pending = true
			l.inbox.commands = append(l.inbox.commands, l.settling[i])
		}
	}
	switch now := workflow.Now(l.ctx); {
	case !pending:
		l.pendingSince = time.Time{}
		return false
	case l.pendingSince.IsZero():
		l.pendingSince = now
		return true
	default:
		return now.Sub(l.pendingSince) < recordPatience
	}
}

// over is the one place that lets a run end by its row: nothing is left to do for it, and no
// signal is left to read.
func (l *lifecycle) over(end LifecycleResult) bool {
	if end.Outcome == sequence.OutcomeNotDue {
		return false
	}
	if l.inbox.drain(); len(l.inbox.commands) > 0 {
		return false
	}
	l.show(end.State)
	return true
}

// settle carries out what came by signal and looks at the row.
func (l *lifecycle) settle() (activities.SettleResult, error) {
	l.inbox.drain()
	l.state.Until = time.Time{}
	l.settling = l.inbox.take()
	in := activities.SettleInput{Ticket: l.state.Ticket, Commands: l.settling}
	var settled activities.SettleResult
	err := workflow.ExecuteLocalActivity(quickSettle(l.ctx), activities.SettleName, in).Get(l.ctx, &settled)
	if err != nil && l.ctx.Err() == nil {
		workflow.GetLogger(l.ctx).Warn("the row could not be settled at once; trying without end", "ticket", in.Ticket, "error", err)
		err = workflow.ExecuteActivity(patientSettle(l.ctx), activities.SettleName, in).Get(l.ctx, &settled)
	}
	if err != nil {
		return settled, err
	}
	l.state.State, l.state.Signals, l.state.Malformed = settled.State, l.inbox.received, l.inbox.malformed
	l.tell(settled)
	return settled, nil
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

// replay returns the number to the pool. A command that comes while the push waits for its next
// attempt is settled at once; where that moves the number on, the push is called off.
func (l *lifecycle) replay() (LifecycleResult, error) {
	ctx, cancel := workflow.WithCancel(l.ctx)
	defer cancel()
	push := workflow.ExecuteActivity(replayLadder(ctx), activities.ReplayName, activities.ReplayInput{Ticket: l.state.Ticket})
	for {
		selector := workflow.NewSelector(ctx)
		selector.AddFuture(push, func(workflow.Future) {})
		l.inbox.watch(selector)
		selector.Select(ctx)
		if push.IsReady() {
			var replayed activities.ReplayResult
			if err := push.Get(ctx, &replayed); err != nil {
				return LifecycleResult{}, err
			}
			l.state.State = replayed.State
			return LifecycleResult{Outcome: replayed.Outcome, State: replayed.State, Reason: replayed.Reason}, nil
		}
		settled, err := l.settle()
		if err != nil {
			return LifecycleResult{}, err
		}
		if settled.Outcome == sequence.OutcomeSuperseded || settled.State != sequence.Abandoned && settled.State != sequence.Replayable {
			return LifecycleResult{Outcome: settled.Outcome, State: settled.State, Reason: settled.Reason}, nil
		}
	}
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

// tell writes what an operator reads in the run's details.
func (l *lifecycle) tell(settled activities.SettleResult) {
	details := "Row: " + settled.State.String()
	for i, c := range l.settling {
		if i < len(settled.Commands) {
			details += fmt.Sprintf("\n\n%s by signal: %s", c.Kind, settled.Commands[i])
		}
	}
	if l.inbox.malformed > 0 {
		details += fmt.Sprintf("\n\n%d malformed signals changed nothing", l.inbox.malformed)
	}
	workflow.SetCurrentDetails(l.ctx, details)
}
