package activities_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/lacuna-seq/lacuna/activities"
)

func TestRestore(t *testing.T) {
	restore := func(t *testing.T, b *beat) activities.RestoreResult {
		t.Helper()
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		activities.NewPatrol(b, b, b, slog.New(slog.DiscardHandler), activities.DefaultPatrolBatch).Register(env)
		value, err := env.ExecuteActivity(activities.RestoreName)
		require.NoError(t, err)
		var result activities.RestoreResult
		require.NoError(t, value.Get(&result))
		return result
	}
	lost := func(count int) *beat {
		return &beat{free: numbers("F", count), pushed: map[string]int{}}
	}
	t.Run("pushes all once, and rests", func(t *testing.T) {
		b := lost(1_300)
		require.Equal(t, activities.RestoreResult{Numbers: 1_300, Whole: true}, restore(t, b))
		require.Len(t, b.pushed, 1_300)
		require.Equal(t, activities.RestoreResult{Whole: true}, restore(t, b))
		require.Equal(t, 1, b.pushed["F-1300"])
	})
	t.Run("marks a Redis that has nothing to lose", func(t *testing.T) {
		b := lost(0)
		require.Equal(t, activities.RestoreResult{Whole: true}, restore(t, b))
		require.NotEmpty(t, b.mark)
	})
	t.Run("begins anew where all is lost again", func(t *testing.T) {
		b := lost(1_300)
		b.flushed = true // after the first page
		require.False(t, restore(t, b).Whole)
		require.Empty(t, b.pushed)
		require.Equal(t, activities.RestoreResult{Numbers: 1_300, Whole: true}, restore(t, b))
		require.Len(t, b.pushed, 1_300)
	})
	t.Run("goes on where a round ended", func(t *testing.T) {
		b := lost(1_300)
		b.mark = `{"until":"2026-01-02T03:04:05Z","after":{"state":"REPLAYABLE","deadline":"2026-01-01T03:04:05Z","id":1000}}`
		require.Equal(t, activities.RestoreResult{Numbers: 300, Whole: true}, restore(t, b))
		require.Zero(t, b.pushed["F-1000"])
	})
	t.Run("says what to do about a mark that it cannot read", func(t *testing.T) {
		b := lost(1)
		b.mark = "half"
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		activities.NewPatrol(b, b, b, slog.New(slog.DiscardHandler), activities.DefaultPatrolBatch).Register(env)
		_, err := env.ExecuteActivity(activities.RestoreName)
		require.ErrorContains(t, err, "delete it")
	})
	t.Run("says that Redis is away", func(t *testing.T) {
		b := lost(1)
		b.away = true
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		activities.NewPatrol(b, b, b, slog.New(slog.DiscardHandler), activities.DefaultPatrolBatch).Register(env)
		_, err := env.ExecuteActivity(activities.RestoreName)
		require.ErrorContains(t, err, "connection refused")
	})
}
