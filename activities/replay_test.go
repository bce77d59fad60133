package activities_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

func replay(t *testing.T, env *testsuite.TestActivityEnvironment) activities.ReplayResult {
	t.Helper()
	value, err := env.ExecuteActivity(activities.ReplayName, activities.ReplayInput{Ticket: ticket})
	require.NoError(t, err)
	var result activities.ReplayResult
	require.NoError(t, value.Get(&result))
	return result
}

func TestReplay(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(n *sequence.Number)
		want    activities.ReplayResult
		pushes  int
	}{
		{
			"pushes a number whose window is over", abandoned(0),
			activities.ReplayResult{Outcome: sequence.OutcomeReplayable, State: sequence.Replayable}, 1,
		},
		{ // C04: it died between the two, or before it could say so
			"pushes again what an attempt before it may have left unpushed", in(sequence.Replayable),
			activities.ReplayResult{Outcome: sequence.OutcomeAlreadyReplayable, State: sequence.Replayable}, 1,
		},
		{
			"asked early tells the time that is left", abandoned(30 * time.Second),
			activities.ReplayResult{Outcome: sequence.OutcomeNotDue, State: sequence.Abandoned, Wait: 30 * time.Second}, 0,
		},
		{
			"retires a number that was replayed often enough", func(n *sequence.Number) { abandoned(0)(n); n.Replays = 2 },
			activities.ReplayResult{Outcome: sequence.OutcomeRetired, State: sequence.Retired, Reason: sequence.ReasonReplayCap}, 0,
		},
		{
			"leaves a confirmed number alone", in(sequence.Confirmed),
			activities.ReplayResult{Outcome: sequence.OutcomeSuperseded, State: sequence.Confirmed}, 0,
		},
		{
			"leaves a later life alone", func(n *sequence.Number) { in(sequence.Replayable)(n); n.Life = 2 },
			activities.ReplayResult{Outcome: sequence.OutcomeSuperseded, State: sequence.Replayable}, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _, env := setup(t, c.prepare)
			require.Equal(t, c.want, replay(t, env))
			require.Equal(t, c.pushes, s.pool["A-000001"])
		})
	}
}

func TestReplayWaitsForTheLedger(t *testing.T) {
	t.Run("inside one attempt", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, _, env := setup(t, abandoned(0))
			back := time.Now().Add(5 * time.Minute)
			s.beforeApply = func(ctx context.Context) error {
				if time.Now().Before(back) {
					return away(ctx)
				}
				return nil
			}
			require.Equal(t, sequence.OutcomeReplayable, replay(t, env).Outcome)
			require.Equal(t, back, time.Now())
			require.Equal(t, 1, s.pool["A-000001"])
		})
	})
	t.Run("with heartbeats, also while its call hangs behind others", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, _, env := setup(t, abandoned(0))
			beats := 0
			env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { beats++ })
			s.beforeApply = func(context.Context) error { <-time.After(2 * time.Minute); return nil }
			replay(t, env)
			require.GreaterOrEqual(t, beats, 4, "the SDK sends one in 30 s")
		})
	})
	t.Run("until it is called off", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, _, env := setup(t, abandoned(0))
			s.beforeApply = away
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
			start := time.Now()
			_, err := env.ExecuteActivity(activities.ReplayName, activities.ReplayInput{Ticket: ticket})
			require.Error(t, err)
			require.Equal(t, time.Minute, time.Since(start))
			require.Equal(t, sequence.Abandoned, s.row.State)
		})
	})
}
