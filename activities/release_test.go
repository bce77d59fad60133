package activities_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestRelease(t *testing.T) {
	release := func(b *beat) (result activities.ReleaseResult, err error) {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		activities.NewPatrol(b, b, b, slog.New(slog.DiscardHandler), activities.DefaultPatrolBatch).Register(env)
		value, err := env.ExecuteActivity(activities.ReleaseName)
		if err == nil {
			require.NoError(t, value.Get(&result))
		}
		return result, err
	}
	by := func(takers ...string) []sequence.Number {
		all := numbers("A", 600*len(takers))
		for i := range all {
			all[i].TakenBy = takers[i%len(takers)]
		}
		return all
	}
	b := &beat{
		open:  map[string]bool{"alive": true},
		taken: map[sequence.State][]sequence.Number{sequence.Abandoned: by("alive", "gone"), sequence.Allocated: by("gone", "gone too", "")},
	}
	result, err := release(b)
	require.NoError(t, err)
	require.Equal(t, activities.ReleaseResult{Numbers: 1_800, Takers: 2}, result, "what names no taker waits for its time")
	require.ElementsMatch(t, []string{"alive", "gone", "gone too"}, b.asked, "each is asked for once")
	for _, freed := range b.freed {
		require.True(t, strings.HasPrefix(freed, "gone "), freed)
	}

	b = &beat{away: true, taken: map[sequence.State][]sequence.Number{sequence.Abandoned: by("gone")}}
	_, err = release(b)
	require.ErrorContains(t, err, "connection refused")
	require.Empty(t, b.freed, "nobody knows whether it has gone")
}
