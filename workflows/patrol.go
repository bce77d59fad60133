package workflows

import (
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/lacuna-seq/lacuna/activities"
)

// PatrolResult counts what one round did.
type PatrolResult struct {
	Shifted   activities.ShiftResult   `json:"shifted"`
	Recovered activities.RecoverResult `json:"recovered"`
	Nudged    activities.NudgeResult   `json:"nudged"`
	Repooled  activities.RepoolResult  `json:"repooled"`
	Purged    activities.PurgeResult   `json:"purged"`
	Retimed   activities.RetimeResult  `json:"retimed"`
}

// Changes of the patrol that a round which began before them does not make.
const (
	changePurge  = "purge"
	changeRetime = "retime"
	changeShift  = "shift"
)

// patrolStep tries once: the next round is a few seconds away.
func patrolStep(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 90 * time.Second,
		HeartbeatTimeout:    30 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             summary,
	})
}

// Patrol is one round of the net under every number: it moves the deadlines that ended in an outage,
// recovers what dead issuers held, wakes the
// runs of numbers that are overdue, starts a Compensation for those whose runs have closed, pushes free numbers that the pool may have lost, and deletes
// idempotency keys that have expired, and lets waiting numbers follow changed settings. A step that
// fails does not keep the others from their work.
func Patrol(ctx workflow.Context) (PatrolResult, error) {
	var result PatrolResult
	var shifted error
	if workflow.GetVersion(ctx, changeShift, workflow.DefaultVersion, 1) >= 1 {
		shifted = workflow.ExecuteActivity(patrolStep(ctx, "move deadlines that ended in an outage"), activities.ShiftName).Get(ctx, &result.Shifted)
	}
	recovered := workflow.ExecuteActivity(patrolStep(ctx, "recover what dead issuers held"), activities.RecoverName).Get(ctx, &result.Recovered)
	nudged := workflow.ExecuteActivity(patrolStep(ctx, "wake what is overdue"), activities.NudgeName).Get(ctx, &result.Nudged)
	compensated := compensate(ctx, result.Nudged.Closed)
	repooled := workflow.ExecuteActivity(patrolStep(ctx, "push what the pool may have lost"), activities.RepoolName).Get(ctx, &result.Repooled)
	var purged error
	if workflow.GetVersion(ctx, changePurge, workflow.DefaultVersion, 1) >= 1 {
		purged = workflow.ExecuteActivity(patrolStep(ctx, "delete expired keys"), activities.PurgeName).Get(ctx, &result.Purged)
	}
	var retimed error
	if workflow.GetVersion(ctx, changeRetime, workflow.DefaultVersion, 1) >= 1 {
		retimed = workflow.ExecuteActivity(patrolStep(ctx, "set the deadlines by the rules of now"), activities.RetimeName).Get(ctx, &result.Retimed)
	}
	return result, errors.Join(shifted, recovered, nudged, compensated, repooled, purged, retimed)
}

// compensate starts a Compensation for each batch, and waits only until it has started.
func compensate(ctx workflow.Context, batches []activities.Numbers) error {
	var errs []error
	for i, batch := range batches {
		childCtx := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
			WorkflowID:            fmt.Sprintf("%s-%s-%s-%d", compensationPrefix, batch.BizType, workflow.GetInfo(ctx).WorkflowExecution.RunID, i),
			TaskQueue:             PatrolTaskQueue,
			ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
			StaticSummary:         fmt.Sprintf("%s, %d numbers from %s", batch.BizType, len(batch.Tickets), batch.Tickets[0]),
			TypedSearchAttributes: temporal.NewSearchAttributes(AttributeBizType.ValueSet(batch.BizType)),
		})
		child := workflow.ExecuteChildWorkflow(childCtx, CompensationName, CompensationInput{Numbers: batch})
		errs = append(errs, child.GetChildWorkflowExecution().Get(ctx, nil))
	}
	return errors.Join(errs...)
}
