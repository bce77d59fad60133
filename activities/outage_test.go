package activities_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestShift(t *testing.T) {
	setup := func(b *beat) func() activities.ShiftResult {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		activities.NewPatrol(b, b, b, slog.New(slog.DiscardHandler), activities.DefaultPatrolBatch).Register(env)
		return func() (result activities.ShiftResult) {
			value, err := env.ExecuteActivity(activities.ShiftName)
			require.NoError(t, err)
			require.NoError(t, value.Get(&result))
			return result
		}
	}
	t.Run("moves every deadline that ended in an outage, then marks it", func(t *testing.T) {
		b := &beat{clock: time.Now(), outages: []sequence.Outage{{ID: 3, From: issued, To: issued.Add(time.Hour)}}, ended: map[sequence.State][]sequence.Number{
			sequence.Allocated: numbers("A", 1234), sequence.Abandoned: numbers("B", 7),
		}}
		require.Equal(t, activities.ShiftResult{Outages: 1, Numbers: 1241}, setup(b)())
		require.Empty(t, b.outages)
	})
	// C62: of two clocks that differ at least one is wrong.
	t.Run("holds all deadlines while the clocks differ in two rounds", func(t *testing.T) {
		for _, gap := range []time.Duration{-time.Minute, time.Minute} {
			b := &beat{clock: time.Now().Add(gap)}
			shift := setup(b)
			shift()
			require.Empty(t, b.holds, "a worker that was slow once")
			require.InDelta(t, gap.Seconds(), shift().Clocks.Seconds(), 30)
			require.Len(t, b.holds, 1)
			b.clock = time.Now()
			shift()
			require.Len(t, b.holds, 1)
		}
	})
	t.Run("lets no round act on deadlines while they are on hold", func(t *testing.T) {
		b := &beat{hold: true, checked: map[string]int{}, overdue: map[sequence.State][]sequence.Number{sequence.Allocated: numbers("A", 3)}}
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		activities.NewPatrol(b, b, b, slog.New(slog.DiscardHandler), activities.DefaultPatrolBatch).Register(env)
		value, err := env.ExecuteActivity(activities.NudgeName)
		require.NoError(t, err)
		var result activities.NudgeResult
		require.NoError(t, value.Get(&result))
		require.Equal(t, activities.NudgeResult{OnHold: true}, result)
		require.Empty(t, b.checked)
	})
}
