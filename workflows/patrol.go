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
	Released  activities.ReleaseResult `json:"released"`
	Gathered  GatherTotal              `json:"gathered"`
	Nudged    activities.NudgeResult   `json:"nudged"`
	Restored  activities.RestoreResult `json:"restored"`
	Repooled  activities.RepoolResult  `json:"repooled"`
	Purged    activities.PurgeResult   `json:"purged"`
	Retimed   activities.RetimeResult  `json:"retimed"`
	Sealed    activities.SealResult    `json:"sealed"`
}

// Changes of the patrol that a round which began before them does not make.
const (
	changePurge   = "purge"
	changeRetime  = "retime"
	changeShift   = "shift"
	changeGather  = "gather"
	changeRelease = "release"
	changeRestore = "restore"
	changeFinish  = "finish"
	changeSeal    = "seal"
)

// patrolStep tries once: the next round is a few seconds away.
func patrolStep(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 90 * time.Second,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             summary,
	})
}

// Patrol is one round of the net under every number: it moves the deadlines that ended in an outage,
// recovers what dead issuers held, frees what a Compensation had taken that has gone, starts a Compensation for the numbers that are overdue and have no run of
// their own, wakes the runs of those that have one, pushes free numbers that the pool has lost, deletes
// idempotency keys that have expired, lets waiting numbers follow changed settings, and seals and archives
// what is final. A step that fails does not keep the others from their work.
func Patrol(ctx workflow.Context) (PatrolResult, error) {
	var result PatrolResult
	var shifted error
	if workflow.GetVersion(ctx, changeShift, workflow.DefaultVersion, 1) >= 1 {
		shifted = workflow.ExecuteActivity(patrolStep(ctx, "move deadlines that ended in an outage"), activities.ShiftName).Get(ctx, &result.Shifted)
	}
	recovered := workflow.ExecuteActivity(patrolStep(ctx, "recover what dead issuers held"), activities.RecoverName).Get(ctx, &result.Recovered)
	var released error
	if workflow.GetVersion(ctx, changeRelease, workflow.DefaultVersion, 1) >= 1 {
		released = workflow.ExecuteActivity(patrolStep(ctx, "free numbers whose Compensation has gone"), activities.ReleaseName).Get(ctx, &result.Released)
	}
	var gathered error
	gathers := workflow.GetVersion(ctx, changeGather, workflow.DefaultVersion, 1) >= 1
	if gathers {
		gathered = gather(ctx, &result.Gathered)
	}
	nudged := workflow.ExecuteActivity(patrolStep(ctx, "wake what is overdue"), activities.NudgeName).Get(ctx, &result.Nudged)
	compensated := compensate(ctx, "", result.Nudged.Closed, gathers)
	var restored error
	if workflow.GetVersion(ctx, changeRestore, workflow.DefaultVersion, 1) >= 1 {
		restored = workflow.ExecuteActivity(patrolStep(ctx, "push all that is free to a Redis that lost its data"), activities.RestoreName).Get(ctx, &result.Restored)
	}
	repooled := workflow.ExecuteActivity(patrolStep(ctx, "push what the pool may have lost"), activities.RepoolName).Get(ctx, &result.Repooled)
	var purged error
	if workflow.GetVersion(ctx, changePurge, workflow.DefaultVersion, 1) >= 1 {
		purged = workflow.ExecuteActivity(patrolStep(ctx, "delete expired keys"), activities.PurgeName).Get(ctx, &result.Purged)
	}
	var retimed error
	if workflow.GetVersion(ctx, changeRetime, workflow.DefaultVersion, 1) >= 1 {
		retimed = workflow.ExecuteActivity(patrolStep(ctx, "set the deadlines by the rules of now"), activities.RetimeName).Get(ctx, &result.Retimed)
	}
	var sealed error
	if workflow.GetVersion(ctx, changeSeal, workflow.DefaultVersion, 1) >= 1 {
		sealed = workflow.ExecuteActivity(patrolStep(ctx, "seal and archive what is final"), activities.SealName).Get(ctx, &result.Sealed)
	}
	err := errors.Join(shifted, recovered, released, gathered, nudged, compensated, restored, repooled, purged, retimed, sealed)
	if err == nil && workflow.GetVersion(ctx, changeFinish, workflow.DefaultVersion, 1) >= 1 {
		err = workflow.ExecuteActivity(patrolStep(ctx, "note that no step failed"), activities.FinishName).Get(ctx, nil)
	}
	return result, err
}

// GatherTotal counts what a round found that no run of its own sees to.
type GatherTotal struct {
	Numbers       int `json:"numbers"`
	Compensations int `json:"compensations"`
	// Tracked turned out to have an open run.
	Tracked int `json:"tracked,omitempty"`
}

// maxGathers bounds the pages of a round: what is left is the next one's.
const maxGathers = 5

// gather goes through the numbers without a run page by page, and starts their Compensations.
func gather(ctx workflow.Context, total *GatherTotal) error {
	var in activities.GatherInput
	for page := range maxGathers {
		var found activities.GatherResult
		err := workflow.ExecuteActivity(patrolStep(ctx, "find what is overdue and has no run"), activities.GatherName, in).Get(ctx, &found)
		if err != nil {
			return err
		}
		if err := compensate(ctx, fmt.Sprintf("p%d-", page), found.Batches, true); err != nil {
			return err
		}
		total.Compensations += len(found.Batches)
		total.Tracked += found.Tracked
		for _, batch := range found.Batches {
			total.Numbers += len(batch.Tickets)
		}
		if found.Next == nil {
			return nil
		}
		in.After = *found.Next
	}
	return nil
}

// compensate starts a Compensation for each batch, and waits only until all have started; a round that began
// before they were started together waits for each.
func compensate(ctx workflow.Context, page string, batches []activities.Numbers, together bool) error {
	var children []workflow.ChildWorkflowFuture
	var errs []error
	for i, batch := range batches {
		childCtx := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
			WorkflowID:            fmt.Sprintf("%s-%s-%s-%s%d", compensationPrefix, batch.BizType, workflow.GetInfo(ctx).WorkflowExecution.RunID, page, i),
			TaskQueue:             PatrolTaskQueue,
			ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
			StaticSummary:         fmt.Sprintf("%s, %d numbers from %s", batch.BizType, len(batch.Tickets), batch.Tickets[0]),
			TypedSearchAttributes: temporal.NewSearchAttributes(AttributeBizType.ValueSet(batch.BizType)),
		})
		child := workflow.ExecuteChildWorkflow(childCtx, CompensationName, CompensationInput{Numbers: batch})
		if children = append(children, child); !together {
			_ = child.GetChildWorkflowExecution().Get(ctx, nil) // it is asked again below
		}
	}
	for _, child := range children {
		errs = append(errs, child.GetChildWorkflowExecution().Get(ctx, nil))
	}
	return errors.Join(errs...)
}
