package main

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
)

// adviser answers AdviseWindow, and keeps what it was asked.
type adviser struct {
	lacunav1connect.UnimplementedOperatorServiceHandler
	answer *lacunav1.AdviseWindowResponse
	asked  *lacunav1.AdviseWindowRequest
}

func (a *adviser) AdviseWindow(_ context.Context, r *connect.Request[lacunav1.AdviseWindowRequest]) (*connect.Response[lacunav1.AdviseWindowResponse], error) {
	if a.asked = r.Msg; a.answer == nil {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("biz type NONE: not found"))
	}
	return connect.NewResponse(a.answer), nil
}

func runWindow(t *testing.T, a *adviser, args ...string) (string, error) {
	t.Helper()
	return against(t, a, append([]string{"window"}, args...)...)
}

func weekOfAdvice() *adviser {
	until := time.Date(2026, 12, 8, 12, 0, 0, 0, time.UTC)
	return &adviser{answer: &lacunav1.AdviseWindowResponse{
		Since: timestamppb.New(until.AddDate(0, 0, -7)), Until: timestamppb.New(until),
		ConfirmTimeout: durationpb.New(15 * time.Minute), SafetyWindow: durationpb.New(2 * time.Minute),
		Confirms: &lacunav1.DelaySummary{Count: 2_000_000, P50: durationpb.New(181_020 * time.Microsecond), P99: durationpb.New(1_217_748 * time.Microsecond),
			P999: durationpb.New(20_171_166 * time.Microsecond), Max: durationpb.New(601_230 * time.Millisecond)},
		LateConfirms: &lacunav1.DelaySummary{}, Abandonments: &lacunav1.DelaySummary{Count: 604_800},
		Choices: []*lacunav1.WindowChoice{
			{Window: durationpb.New(15 * time.Second), LateAfter: 2, Held: 15},
			{Window: durationpb.New(time.Minute), Held: 60.25},
			{Window: durationpb.New(2 * time.Minute), Held: 120.5},
		},
		NoneAfter: durationpb.New(time.Minute), OnePerMillion: durationpb.New(15 * time.Second), Remarks: []string{"mind the gap"},
	}}
}

func TestWindowWritesATableAndWhatFollows(t *testing.T) {
	a := weekOfAdvice()
	out, err := runWindow(t, a, "ORDER")
	require.NoError(t, err)
	require.Equal(t, int32(7), a.asked.GetDays())
	require.Empty(t, a.asked.GetWindows())
	require.Equal(t, [][]string{
		{"ORDER", "from", "2026-12-01T12:00:00Z", "to", "2026-12-08T12:00:00Z,", "confirm", "timeout", "15m0s"},
		{},
		{"count", "p50", "p99", "p99.9", "max"},
		{"confirms", "2000000", "181ms", "1.2s", "20.2s", "10m1s"},
		{"late", "confirms", "0", "-", "-", "-", "-"},
		{"abandonments", "604800", "-", "-", "-", "-"},
		{},
		{"window", "late", "confirms", "after", "it", "numbers", "held", "on", "average"},
		{"15s", "2", "15.0"},
		{"1m0s", "0", "60.2"},
		{"2m0s", "0", "120.5", "present"},
		{},
		{"recommended:", "1m0s,", "the", "shortest", "of", "these", "that", "no", "late", "confirm", "came", "after"},
		{"where", "one", "confirm", "in", "a", "million", "may", "be", "late:", "15s"},
		{"note:", "mind", "the", "gap"},
	}, fields(out), "%s", out)
}

func TestWindowAsksForWhatIsNamed(t *testing.T) {
	a := weekOfAdvice()
	out, err := runWindow(t, a, "ORDER", "--days", "30", "--windows", "15s,60s,120s", "--output", "json")
	require.NoError(t, err)
	require.Equal(t, int32(30), a.asked.GetDays())
	var windows []time.Duration
	for _, w := range a.asked.GetWindows() {
		windows = append(windows, w.AsDuration())
	}
	require.Equal(t, []time.Duration{15 * time.Second, time.Minute, 2 * time.Minute}, windows)
	var answer struct {
		NoneAfter string
		Choices   []struct{ LateAfter string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &answer))
	require.Equal(t, "60s", answer.NoneAfter)
	require.Equal(t, "0", answer.Choices[2].LateAfter)
}

func TestWindowSaysWhereNothingWasCounted(t *testing.T) {
	out, err := runWindow(t, &adviser{answer: &lacunav1.AdviseWindowResponse{Remarks: []string{"too little was seen"}}}, "ORDER")
	require.NoError(t, err)
	require.Contains(t, out, "ORDER: nothing was counted yet\n")
	require.NotContains(t, out, "recommended")
	require.Contains(t, out, "note: too little was seen\n")
}

func TestWindowFailsWhereItCannotTell(t *testing.T) {
	_, err := runWindow(t, &adviser{}, "NONE")
	require.ErrorContains(t, err, "biz type NONE: not found")
	require.Equal(t, exitFailed, exitCode(err))
}
