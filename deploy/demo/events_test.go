package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheShippedTrafficIsWhatIsGenerated(t *testing.T) {
	for name, isLong := range map[string]bool{"events-short.csv": false, "events.csv": true} {
		var want bytes.Buffer
		require.NoError(t, writeEvents(&want, generate(isLong)))
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want.Bytes(), got), "%s is not current: run the demo with --generate", name)
	}
}

func TestGeneratedTraffic(t *testing.T) {
	for _, isLong := range []bool{false, true} {
		events := generate(isLong)
		last := events[len(events)-1].at
		require.InDelta(t, 15, float64(len(events))/last.Seconds(), 1, "the mean rate")
		seen := map[outcome]int{}
		for _, e := range events {
			seen[e.outcome]++
		}
		for _, o := range []outcome{outcomeCommit, outcomeRollback, outcomeSilent, outcomeLate} {
			require.Positive(t, seen[o], o)
		}
	}
	require.Len(t, generate(false), 1_000)
	require.Len(t, generate(true), 10_000)
}

func TestReadEvents(t *testing.T) {
	const head = "at_ms,key,outcome,duration_ms\n"
	t.Run("reads what was written", func(t *testing.T) {
		events, err := readEvents(strings.NewReader(head + "0,a,commit,20\n5,b,silent,0\n"))
		require.NoError(t, err)
		require.Equal(t, []event{
			{key: "a", outcome: outcomeCommit, duration: 20 * time.Millisecond},
			{at: 5 * time.Millisecond, key: "b", outcome: outcomeSilent},
		}, events)
	})
	for name, tt := range map[string]struct{ text, says string }{
		"an empty file":           {"", "header"},
		"another header":          {"a,b,c,d\n", "header"},
		"no events":               {head, "no events"},
		"a missing field":         {head + "0,a,commit\n", "line 2"},
		"a time that is none":     {head + "x,a,commit,1\n", "line 2: at_ms"},
		"a negative duration":     {head + "0,a,commit,-1\n", "line 2: duration_ms"},
		"an unknown outcome":      {head + "0,a,refund,1\n", "line 2: the outcome"},
		"an empty key":            {head + "0,,commit,1\n", "line 2: the key"},
		"a key that occurs twice": {head + "0,a,commit,1\n0,a,commit,1\n", "line 3: the key"},
		"a time that goes back":   {head + "5,a,commit,1\n4,b,commit,1\n", "line 3: at_ms"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			_, err := readEvents(strings.NewReader(tt.text))
			require.ErrorContains(t, err, tt.says)
		})
	}
}
