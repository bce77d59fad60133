package workflows_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/workflows"
)

// A round of the patrol that starts a Compensation which takes every path: their histories are kept like
// those of lifecycles. The activities' answers are given; what they do is tested with them.
func TestHistoriesOfBatches(t *testing.T) {
	c, err := client.Dial(client.Options{HostPort: testkit.Temporal(t), Identity: "lab", Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	defer c.Close()
	w := worker.New(c, workflows.PatrolTaskQueue, worker.Options{})
	workflows.Register(w)
	answer := func(name string, f any) { w.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name}) }
	batch := activities.Numbers{BizType: "ORDER", Tickets: []string{"ORDER~A-1~1", "ORDER~A-2~1", "ORDER~A-3~1"}}
	answer(activities.ShiftName, func(context.Context) (activities.ShiftResult, error) { return activities.ShiftResult{}, nil })
	answer(activities.ReleaseName, func(context.Context) (activities.ReleaseResult, error) {
		return activities.ReleaseResult{Numbers: 3, Takers: 1}, nil
	})
	answer(activities.GatherName, func(context.Context, activities.GatherInput) (activities.GatherResult, error) {
		return activities.GatherResult{}, nil
	})
	answer(activities.RecoverName, func(context.Context) (activities.RecoverResult, error) { return activities.RecoverResult{}, nil })
	answer(activities.NudgeName, func(context.Context) (activities.NudgeResult, error) {
		return activities.NudgeResult{Woken: 1, Closed: []activities.Numbers{batch}}, nil
	})
	answer(activities.FinishName, func(context.Context) error { return nil })
	answer(activities.RestoreName, func(context.Context) (activities.RestoreResult, error) {
		return activities.RestoreResult{Whole: true}, nil
	})
	answer(activities.RepoolName, func(context.Context) (activities.RepoolResult, error) { return activities.RepoolResult{}, nil })
	answer(activities.PurgeName, func(context.Context) (activities.PurgeResult, error) { return activities.PurgeResult{}, nil })
	answer(activities.RetimeName, func(context.Context) (activities.RetimeResult, error) { return activities.RetimeResult{}, nil })
	answer(activities.SealName, func(context.Context) (activities.SealResult, error) {
		return activities.SealResult{Blocks: 1, Archived: 500}, nil
	})
	answer(activities.TakeOnName, func(context.Context, activities.Numbers) (activities.TakeOnResult, error) {
		return activities.TakeOnResult{
			Due: batch.Tickets[:2], Waiting: activities.Waiting{Tickets: batch.Tickets[2:], Wait: 10 * time.Millisecond},
			Probe: true, RetryDelays: []time.Duration{10 * time.Millisecond},
		}, nil
	})
	answer(activities.ProbeManyName, func(_ context.Context, in activities.Numbers) (activities.ManyResult, error) {
		return activities.ManyResult{Done: in.Tickets}, nil
	})
	answer(activities.ReplayManyName, func(_ context.Context, in activities.ReplayManyInput) (activities.ManyResult, error) {
		if len(in.Tickets) == 2 {
			return activities.ManyResult{Done: in.Tickets[:1], Failed: in.Tickets[1:], Reason: "connection refused"}, nil
		}
		return activities.ManyResult{Failed: in.Tickets, Reason: "connection refused"}, nil
	})
	answer(activities.BuryManyName, func(_ context.Context, in activities.BuryManyInput) (activities.ManyResult, error) {
		return activities.ManyResult{Dead: len(in.Tickets)}, nil
	})
	require.NoError(t, w.Start())
	defer w.Stop()

	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: workflows.PatrolTaskQueue}, workflows.PatrolName)
	require.NoError(t, err)
	var round workflows.PatrolResult
	require.NoError(t, run.Get(t.Context(), &round))
	require.Equal(t, 1, round.Nudged.Woken)
	compensation := "compensation-ORDER-" + run.GetRunID() + "-0"
	var result workflows.CompensationResult
	require.NoError(t, c.GetWorkflow(t.Context(), compensation, "").Get(t.Context(), &result), "it outlives the round that started it")
	require.Equal(t, workflows.CompensationResult{Replayed: 1, Dead: 2}, result)
	d, err := c.DescribeWorkflow(t.Context(), compensation, "")
	require.NoError(t, err)
	summary, err := d.GetStaticSummary()
	require.NoError(t, err)
	require.Equal(t, "ORDER, 3 numbers from ORDER~A-1~1", summary)

	for name, id := range map[string]string{"patrol": run.GetID(), "compensation": compensation} {
		history := testkit.History(t, c, id)
		t.Logf("%s: %d events", name, len(history.GetEvents()))
		if *record != "" {
			keep(t, history, name)
		}
	}
}
