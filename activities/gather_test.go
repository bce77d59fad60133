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

func TestGather(t *testing.T) {
	gather := func(t *testing.T, b *beat, in activities.GatherInput) (result activities.GatherResult) {
		t.Helper()
		b.checked = map[string]int{}
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		activities.NewPatrol(b, b, b, slog.New(slog.DiscardHandler), activities.DefaultPatrolBatch).Register(env)
		value, err := env.ExecuteActivity(activities.GatherName, in)
		require.NoError(t, err)
		require.NoError(t, value.Get(&result))
		return result
	}
	of := func(bizType, prefix string, count int) []sequence.Number {
		all := numbers(prefix, count)
		for i := range all {
			all[i].BizType, all[i].Deadline = bizType, issued.Add(time.Duration(i)*time.Millisecond)
		}
		return all
	}
	t.Run("takes windows that are over before time-outs, a biz type at a time", func(t *testing.T) {
		b := &beat{runless: map[sequence.State][]sequence.Number{sequence.Abandoned: of("BULK", "B", 2_001), sequence.Allocated: of("SLOW", "S", 3)}}
		result := gather(t, b, activities.GatherInput{})
		require.Nil(t, result.Next)
		var sizes []int
		for _, batch := range result.Batches {
			sizes = append(sizes, len(batch.Tickets))
		}
		require.Equal(t, []int{2_000, 1, 3}, sizes)
		require.Empty(t, b.checked, "nobody is asked")
	})
	t.Run("goes on page by page until it has seen each once", func(t *testing.T) {
		b := &beat{runless: map[sequence.State][]sequence.Number{sequence.Abandoned: of("BULK", "B", 45_678), sequence.Allocated: of("BULK", "S", 1_000)}}
		seen := map[string]int{}
		var in activities.GatherInput
		for pages := 1; ; pages++ {
			result := gather(t, b, in)
			for _, batch := range result.Batches {
				require.LessOrEqual(t, len(batch.Tickets), 2_000)
				for _, ticket := range batch.Tickets {
					seen[ticket]++
					require.Equal(t, 1, seen[ticket], ticket)
				}
			}
			if result.Next == nil {
				require.Equal(t, 3, pages)
				break
			}
			in.After = *result.Next
		}
		require.Len(t, seen, 46_678)
	})
	t.Run("leaves out those that turn out to have an open run, and wakes these", func(t *testing.T) {
		b := &beat{open: map[string]bool{"A-2": true}, runless: map[sequence.State][]sequence.Number{sequence.Allocated: of("ORDER", "A", 3)}}
		result := gather(t, b, activities.GatherInput{})
		require.ElementsMatch(t, []string{"ORDER~A-1~1", "ORDER~A-3~1"}, result.Batches[0].Tickets)
		require.Equal(t, 1, result.Tracked)
		require.Equal(t, []string{"A-2"}, b.tracked)
		require.Equal(t, map[string]int{"A-2": 1}, b.checked)
	})
	t.Run("asks about more of them for a while after an outage", func(t *testing.T) {
		for after, tracked := range map[time.Duration]int{time.Minute: 1, time.Hour: 0} {
			b := &beat{outage: issued.Add(-after), open: map[string]bool{"S-1": true, "B-1": true}, runless: map[sequence.State][]sequence.Number{
				sequence.Allocated: append(of("SLOW", "S", 1), of("BULK", "B", 1)...),
			}}
			require.Equal(t, tracked, gather(t, b, activities.GatherInput{}).Tracked, after)
		}
	})
	t.Run("finds nothing while deadlines are on hold", func(t *testing.T) {
		b := &beat{hold: true, runless: map[sequence.State][]sequence.Number{sequence.Abandoned: of("BULK", "B", 3)}}
		require.Equal(t, activities.GatherResult{}, gather(t, b, activities.GatherInput{}))
	})
}
