package sequence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

func TestAdviseWindow(t *testing.T) {
	rules := sequence.NewBizType("ORDER", sequence.Format{}) // confirm timeout 15 min, window 2 min
	until := time.Date(2026, 12, 8, 12, 0, 0, 0, time.UTC)
	// A week: two million confirms after a second, 604,800 abandonments (one a second), and late confirms.
	week := func(late ...time.Duration) *sequence.Delays {
		d := &sequence.Delays{Since: until.Add(-7 * 24 * time.Hour), Until: until}
		d.Confirmed[sequence.DelayBucket(time.Second)] = 2_000_000
		d.Abandoned[sequence.DelayBucket(time.Minute)] = 604_800
		for _, l := range late {
			d.Late.Add(l)
		}
		return d
	}
	t.Run("weighs each window by what came after it", func(t *testing.T) {
		seen := week(5*time.Second, 20*time.Second, 20*time.Second, 45*time.Second)
		advice := sequence.AdviseWindow(rules, seen, []time.Duration{time.Minute, 10 * time.Second, 30 * time.Second})
		require.Equal(t, []sequence.WindowChoice{
			{Window: 10 * time.Second, LateAfter: 3, Held: 10},
			{Window: 30 * time.Second, LateAfter: 1, Held: 30},
			{Window: time.Minute, LateAfter: 0, Held: 60},
			{Window: 2 * time.Minute, LateAfter: 0, Held: 120},
		}, advice.Choices, "the present one is among them")
		require.Equal(t, time.Minute, advice.NoneAfter)
		require.Equal(t, 30*time.Second, advice.OnePerMillion, "two in 2,000,004 may be late")
		require.Empty(t, advice.Remarks)
	})
	t.Run("goes around the present one where none is named, and past the latest confirm", func(t *testing.T) {
		windows := func(late ...time.Duration) (all []time.Duration) {
			for _, c := range sequence.AdviseWindow(rules, week(late...), nil).Choices {
				all = append(all, c.Window)
			}
			return all
		}
		require.Equal(t, []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute}, windows())
		latest := sequence.AdviseWindow(rules, week(time.Hour), nil)
		require.GreaterOrEqual(t, latest.NoneAfter, time.Hour, "never below what was seen")
		require.Less(t, latest.NoneAfter, time.Hour*11/10)
		require.Zero(t, latest.NoneAfter%time.Second)
		require.Len(t, latest.Remarks, 1)
		require.Contains(t, latest.Remarks[0], "1 of 1 late confirms came after the present window of 2m0s")
	})
	t.Run("keeps to what a window may be", func(t *testing.T) {
		short, long := rules, rules
		short.SafetyWindow, long.SafetyWindow = time.Second, 30*24*time.Hour
		for _, rules := range []sequence.BizType{short, long} {
			for _, c := range sequence.AdviseWindow(rules, week(), nil).Choices {
				require.GreaterOrEqual(t, c.Window, sequence.MinSafetyWindow)
				require.LessOrEqual(t, c.Window, sequence.MaxSafetyWindow)
			}
		}
	})
	t.Run("recommends none of those that are too short", func(t *testing.T) {
		advice := sequence.AdviseWindow(rules, week(time.Hour, time.Hour, time.Hour), []time.Duration{10 * time.Minute})
		require.Zero(t, advice.NoneAfter)
		require.Zero(t, advice.OnePerMillion)
		require.Contains(t, advice.Remarks[0], "none of these windows is long enough")
	})
	t.Run("has no window for a confirm that no window outlasts", func(t *testing.T) {
		advice := sequence.AdviseWindow(rules, week(100*24*time.Hour), nil)
		require.Zero(t, advice.NoneAfter)
		require.Contains(t, advice.Remarks[0], "no window is long enough")
	})
	t.Run("says where too little was seen, and recommends nothing", func(t *testing.T) {
		few, brief := week(), week()
		few.Confirmed = sequence.DelayCounts{999}
		brief.Since = until.Add(-23 * time.Hour)
		for _, seen := range []*sequence.Delays{few, brief, {}, {Until: until}} {
			advice := sequence.AdviseWindow(rules, seen, nil)
			require.Zero(t, advice.NoneAfter)
			require.Zero(t, advice.OnePerMillion)
			require.Len(t, advice.Remarks, 1)
			require.Contains(t, advice.Remarks[0], "too little was seen to recommend a window")
		}
		few.Confirmed[0] = 1000
		require.NotZero(t, sequence.AdviseWindow(rules, few, nil).NoneAfter)
	})
	t.Run("remarks on a confirm timeout that confirms come close to", func(t *testing.T) {
		seen := week()
		seen.Confirmed[sequence.DelayBucket(14*time.Minute)] = 2_100
		require.Contains(t, sequence.AdviseWindow(rules, seen, nil).Remarks[0], "the confirm timeout is 15m0s")
	})
}
