package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

// replay returns the number to the pool. A command that comes while the push waits for its next
// attempt is settled at once, and where that moves the number on, the push is called off. It gives
// nil where the row is to be looked at again, and an error when the push has failed for good.
func (l *lifecycle) replay() (*LifecycleResult, error) {
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
				return nil, err
			}
			return l.replayed(replayed), nil
		}
		settled, err := l.settle()
		if err != nil {
			return nil, err
		}
		if settled.Outcome == sequence.OutcomeSuperseded || settled.State != sequence.Abandoned && settled.State != sequence.Replayable {
			return nil, nil
		}
	}
}

// replayed reads what the activity came to. A window that was raised, or a number that has moved
// on meanwhile, is the next look's to judge.
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
