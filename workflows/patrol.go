package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/lacuna-seq/lacuna/activities"
)

// PatrolResult counts what one round did.
type PatrolResult struct {
	Recovered activities.RecoverResult `json:"recovered"`
	Nudged    activities.NudgeResult   `json:"nudged"`
	Repooled  activities.RepoolResult  `json:"repooled"`
	Purged    activities.PurgeResult   `json:"purged"`
}

// Changes of the patrol that a round which began before them does not make.
const changePurge = "purge"

// patrolStep tries once: the next round is a few seconds away.
func patrolStep(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 90 * time.Second,
		HeartbeatTimeout:    30 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             summary,
	})
}

// Patrol is one round of the net under every number: it recovers what dead issuers held, wakes the
// runs of numbers that are overdue, pushes free numbers that the pool may have lost, and deletes
// idempotency keys that have expired. A step that
// fails does not keep the others from their work.
func Patrol(ctx workflow.Context) (PatrolResult, error) {
	var result PatrolResult
	recovered := workflow.ExecuteActivity(patrolStep(ctx, "recover what dead issuers held"), activities.RecoverName).Get(ctx, &result.Recovered)
	nudged := workflow.ExecuteActivity(patrolStep(ctx, "wake what is overdue"), activities.NudgeName).Get(ctx, &result.Nudged)
	repooled := workflow.ExecuteActivity(patrolStep(ctx, "push what the pool may have lost"), activities.RepoolName).Get(ctx, &result.Repooled)
	var purged error
	if workflow.GetVersion(ctx, changePurge, workflow.DefaultVersion, 1) >= 1 {
		purged = workflow.ExecuteActivity(patrolStep(ctx, "delete expired keys"), activities.PurgeName).Get(ctx, &result.Purged)
	}
	return result, errors.Join(recovered, nudged, repooled, purged)
}
