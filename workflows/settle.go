package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	// recordPatience is for how long the record of a hand-out may be on its way to a ledger that
	// answers: twice the time for which an issuer may keep it to itself. After that the life
	// counts as never handed out.
	recordPatience = 20 * time.Second
	// pendingRetry is how soon the run asks again for what an issuer holds. It waits twice as long
	// each time, since a claim stays undecided for as long as its issuer is gone.
	pendingRetry    = 5 * time.Second
	maxPendingRetry = 5 * time.Minute
)

// settle carries out what came by signal and looks at the row. Commands that it could not decide
// stay in the inbox.
func (l *lifecycle) settle() (activities.SettleResult, error) {
	l.inbox.drain()
	l.state.Until = time.Time{}
	in := activities.SettleInput{Ticket: l.state.Ticket, Commands: l.inbox.take()}
	var settled activities.SettleResult
	err := workflow.ExecuteLocalActivity(quickSettle(l.ctx), activities.SettleName, in).Get(l.ctx, &settled)
	if err != nil && l.ctx.Err() == nil {
		workflow.GetLogger(l.ctx).Warn("the row could not be settled at once; trying without end", "ticket", in.Ticket, "error", err)
		err = workflow.ExecuteActivity(patientSettle(l.ctx, "settle the row"), activities.SettleName, in).Get(l.ctx, &settled)
		l.pending = time.Time{} // while the ledger was away, issuers could not write either
	}
	if err != nil {
		l.inbox.keep(in.Commands...)
		return settled, err
	}
	l.keepUndecided(in.Commands, settled)
	l.state.State, l.state.Signals, l.state.Malformed = settled.State, l.inbox.received, l.inbox.malformed
	l.tell(in, settled)
	return settled, nil
}

// keepUndecided puts back the commands whose answer an issuer's memory holds, and notes since when
// it does: the record of this life's hand-out, or the decision of the claim that would end it.
func (l *lifecycle) keepUndecided(commands []activities.Command, settled activities.SettleResult) {
	held := settled.Outcome == sequence.OutcomePending
	for i, outcome := range settled.Commands {
		if outcome == sequence.OutcomePending {
			held = true
			l.inbox.keep(commands[i])
		}
	}
	switch {
	case !held:
		l.pending = time.Time{}
	case l.pending.IsZero():
		l.pending = workflow.Now(l.ctx)
	}
}

// undecided reports whether an issuer's memory holds the answer.
func (l *lifecycle) undecided() bool { return !l.pending.IsZero() }

// waited is for how long it has held it.
func (l *lifecycle) waited() time.Duration {
	if !l.undecided() {
		return 0
	}
	return workflow.Now(l.ctx).Sub(l.pending)
}

// tell writes what an operator reads in the run's details.
func (l *lifecycle) tell(in activities.SettleInput, settled activities.SettleResult) {
	details := "Row: " + settled.State.String()
	for i, outcome := range settled.Commands {
		details += fmt.Sprintf("\n\n%s by signal: %s", in.Commands[i].Kind, outcome)
	}
	if l.inbox.malformed > 0 {
		details += fmt.Sprintf("\n\n%d malformed signals changed nothing", l.inbox.malformed)
	}
	workflow.SetCurrentDetails(l.ctx, details)
}
