package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

// replay asks the business about the number, where it is to be asked, and returns the number to the pool.
// It gives nil where the row is to be looked at again, and an error when either has failed for good.
func (l *lifecycle) replay(probe bool) (*LifecycleResult, error) {
	if probe {
		var probed activities.ProbeResult
		in := activities.ProbeInput{Ticket: l.state.Ticket}
		done, err := l.openly("ask the business whether it holds the number", activities.ProbeName, in, &probed)
		if err != nil || !done || probed.InUse {
			return nil, err
		}
	}
	var replayed activities.ReplayResult
	in := activities.ReplayInput{Ticket: l.state.Ticket, Probed: probe}
	done, err := l.openly("return the number to the pool", activities.ReplayName, in, &replayed)
	if err != nil || !done {
		return nil, err
	}
	return l.replayed(replayed), nil
}

// openly climbs the ladder with an activity and stays open to commands: one that comes while the activity
// waits for its next attempt is settled at once, and where that moves the number on, the activity is called
// off and openly gives false.
func (l *lifecycle) openly(summary, name string, in, out any) (done bool, err error) {
	ctx, cancel := workflow.WithCancel(l.ctx)
	defer cancel()
	attempts := workflow.ExecuteActivity(ladder(ctx, summary), name, in)
	for {
		selector := workflow.NewSelector(ctx)
		selector.AddFuture(attempts, func(workflow.Future) {})
		l.inbox.watch(selector)
		selector.Select(ctx)
		if attempts.IsReady() {
			return true, attempts.Get(ctx, out)
		}
		settled, err := l.settle()
		if err != nil {
			return false, err
		}
		if settled.Outcome == sequence.OutcomeSuperseded || settled.State != sequence.Abandoned && settled.State != sequence.Replayable {
			return false, nil
		}
	}
}

// replayed reads what the activity came to. A window that was raised, a probe that was set, or a number that
// has moved on meanwhile, is the next look's to judge.
func (l *lifecycle) replayed(r activities.ReplayResult) *LifecycleResult {
	switch r.Outcome {
	case sequence.OutcomeReplayable, sequence.OutcomeAlreadyReplayable, sequence.OutcomeRetired:
		l.state.State = r.State
		l.show(r.State)
		return &LifecycleResult{Outcome: r.Outcome, State: r.State, Reason: r.Reason}
	default:
		return nil
	}
}
