package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// quickSettle is the local activity: no event of its own but a marker, joined with hundreds of
// others in the worker. A ledger that does not answer within it is left to patientSettle.
func quickSettle(ctx workflow.Context) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 4 * time.Second,
		StartToCloseTimeout:    3 * time.Second,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumAttempts: 3},
		Summary:                "settle the row",
	})
}

// patientSettle retries without end: the row must be settled however long the ledger is away. Its
// attempts are at most a quarter of the default safety window apart.
func patientSettle(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
		Summary:             "settle the row",
	})
}

// replayLadder retries a push that fails after 30 s, 2 min and 5 min, and then no more. The
// attempt itself has no short limit: it waits for a ledger that is away. A worker that died is
// noticed by the missing heartbeat, which costs one attempt.
func replayLadder(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 24 * time.Hour,
		HeartbeatTimeout:    30 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 30 * time.Second, BackoffCoefficient: 4, MaximumInterval: 5 * time.Minute, MaximumAttempts: 4,
		},
		Summary: "return the number to the pool",
	})
}
