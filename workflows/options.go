package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// heartbeatTimeout is how long a worker may be silent about a long step before it counts as dead. The next round of
// the patrol waits for as long as that, where a worker dies in one.
const heartbeatTimeout = 10 * time.Second

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
func patientSettle(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
		Summary:             summary,
	})
}

// ladder retries an attempt that fails after 30 s, 2 min and 5 min, or after the pauses of its biz type,
// which come with the failure as well as the verdict that it was the last. The attempt itself has no short
// limit: it waits for a ledger that is away. A worker that died is noticed by the missing heartbeat, which
// costs one attempt.
func ladder(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 24 * time.Hour,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 30 * time.Second, BackoffCoefficient: 4, MaximumInterval: 5 * time.Minute,
		},
		Summary: summary,
	})
}

// patientBatch retries without end, like patientSettle: only the ledger, or the server's histories, can
// keep a batch from its work, and both come back.
func patientBatch(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
		Summary:             summary,
	})
}
