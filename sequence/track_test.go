package sequence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

func TestWhichNumbersHaveARun(t *testing.T) {
	tracked := func(track sequence.Track, untracked bool) (issued, gone, abandoned bool) {
		r := rules
		r.Track = track
		decide := func(n sequence.Number, kind sequence.Kind, life int32, change func(*sequence.Command)) sequence.Number {
			c := command(kind, life)
			c.Untracked = untracked
			change(&c)
			d := sequence.Decide(r, n, c, now)
			require.True(t, d.Changed)
			return d.Number
		}
		handedOut := decide(row(sequence.Reserved, 0, false), sequence.Record, 1, func(*sequence.Command) {})
		left := decide(row(sequence.Reserved, 0, false), sequence.Record, 1, func(c *sequence.Command) { c.CallerGone = true })
		givenUp := decide(handedOut, sequence.Abandon, 1, func(*sequence.Command) {})
		return handedOut.Tracked, left.Tracked, givenUp.Tracked
	}
	for track, want := range map[sequence.Track][3]bool{
		sequence.TrackEvery: {true, true, true}, sequence.TrackUnsettled: {false, true, true}, sequence.TrackNone: {false, false, false},
	} {
		issued, gone, abandoned := tracked(track, false)
		require.Equal(t, want, [3]bool{issued, gone, abandoned}, track)
		issued, gone, abandoned = tracked(track, true)
		require.Equal(t, [3]bool{}, [3]bool{issued, gone, abandoned}, "%s in a storm", track)
	}
	sleeping := row(sequence.Allocated, 2, false)
	c := command(sequence.Abandon, 2)
	c.Untracked = true
	require.False(t, sequence.Decide(rules, sleeping, c, now).Number.Tracked, "its run sleeps, and is left behind")
}

func TestTrackIt(t *testing.T) {
	open := row(sequence.Allocated, 2, false)
	open.Tracked = false
	c := command(sequence.TrackIt, 2)
	require.Equal(t, sequence.OutcomeTracked, sequence.Decide(rules, open, c, now).Outcome)
	require.True(t, sequence.Decide(rules, open, c, now).Number.Tracked)

	none := rules
	none.Track = sequence.TrackNone
	require.Equal(t, sequence.OutcomeSuperseded, sequence.Decide(none, open, c, now).Outcome)
	open.TakenUntil = now.Add(time.Second)
	require.Equal(t, sequence.OutcomeSuperseded, sequence.Decide(rules, open, c, now).Outcome, "a Compensation sees to it")
}

func TestTakingWhatNobodyIsToBeAskedAbout(t *testing.T) {
	free := row(sequence.Abandoned, 2, true)
	free.Tracked = false
	c := command(sequence.Take, 2)
	d := sequence.Decide(rules, free, c, now)
	require.Equal(t, sequence.OutcomeTaken, d.Outcome)
	require.False(t, d.Changed, "the step that brings it back is the next one")

	direct, asks := rules, rules
	direct.DirectSignals, asks.Probe = true, sequence.Probe{URL: "http://shop"}
	for _, r := range []sequence.BizType{direct, asks} {
		require.True(t, sequence.Decide(r, free, c, now).Changed)
	}
	require.True(t, direct.MayHaveRun(free))
	direct.Track = sequence.TrackNone
	require.False(t, direct.MayHaveRun(free))
	require.True(t, direct.MayHaveRun(row(sequence.Abandoned, 2, true)), "it keeps the run that it has")
}
