package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/workflows"
)

func TestPatrolTakesEveryStepThoughOneFails(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(slog.New(slog.DiscardHandler))
	env := suite.NewTestWorkflowEnvironment()
	workflows.Register(env)
	released, nudged, restored, repooled, purged, sealed := 0, 0, 0, 0, 0, 0
	env.RegisterActivityWithOptions(func(context.Context) (activities.ShiftResult, error) {
		return activities.ShiftResult{}, nil
	}, activity.RegisterOptions{Name: activities.ShiftName})
	env.RegisterActivityWithOptions(func(context.Context) (activities.ReleaseResult, error) {
		released++
		return activities.ReleaseResult{}, nil
	}, activity.RegisterOptions{Name: activities.ReleaseName})
	env.RegisterActivityWithOptions(func(context.Context, activities.GatherInput) (activities.GatherResult, error) {
		return activities.GatherResult{}, nil
	}, activity.RegisterOptions{Name: activities.GatherName})
	env.RegisterActivityWithOptions(func(context.Context) (activities.RecoverResult, error) {
		return activities.RecoverResult{}, errors.New("the ledger is away")
	}, activity.RegisterOptions{Name: activities.RecoverName})
	env.RegisterActivityWithOptions(func(context.Context) (activities.NudgeResult, error) {
		nudged++
		return activities.NudgeResult{Woken: 1}, nil
	}, activity.RegisterOptions{Name: activities.NudgeName})
	env.RegisterActivityWithOptions(func(context.Context) (activities.RestoreResult, error) {
		restored++
		return activities.RestoreResult{}, nil
	}, activity.RegisterOptions{Name: activities.RestoreName})
	env.RegisterActivityWithOptions(func(context.Context) (activities.RepoolResult, error) {
		repooled++
		return activities.RepoolResult{}, nil
	}, activity.RegisterOptions{Name: activities.RepoolName})
	env.RegisterActivityWithOptions(func(context.Context) (activities.PurgeResult, error) {
		purged++
		return activities.PurgeResult{}, nil
	}, activity.RegisterOptions{Name: activities.PurgeName})
	env.RegisterActivityWithOptions(func(context.Context) (activities.SealResult, error) {
		sealed++
		return activities.SealResult{}, nil
	}, activity.RegisterOptions{Name: activities.SealName})
	env.ExecuteWorkflow(workflows.PatrolName)
	require.ErrorContains(t, env.GetWorkflowError(), "the ledger is away")
	require.Equal(t, 1, released)
	require.Equal(t, 1, nudged)
	require.Equal(t, 1, restored)
	require.Equal(t, 1, repooled)
	require.Equal(t, 1, purged)
	require.Equal(t, 1, sealed)
}
