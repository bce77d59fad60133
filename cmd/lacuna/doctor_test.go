package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/buildinfo"
)

func healthy() *lacunav1.GetStatusResponse {
	now := timestamppb.Now()
	return &lacunav1.GetStatusResponse{Version: "v1.0.0", Commit: "abc", LedgerTime: now, Time: now, PatrolAge: durationpb.New(3 * time.Second)}
}

// verdicts are the second words of the lines, by the check.
func verdicts(t *testing.T, f *fake, args ...string) (map[string]verdict, string, error) {
	t.Helper()
	out, err := f.lacuna(t, append([]string{"doctor", "--output", "csv"}, args...)...)
	table := map[string]verdict{}
	for _, line := range csvLines(t, out)[1:] {
		table[line[0]] = verdict(line[1])
	}
	return table, out, err
}

func TestDoctorAsksTheStarterWhereNothingElseIsNamed(t *testing.T) {
	ready := http.StatusOK
	ops := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/readyz", r.URL.Path)
		w.WriteHeader(ready)
		_, _ = w.Write([]byte("ledger: ok\n"))
	}))
	defer ops.Close()
	f := &fake{status: healthy()}
	seen, out, err := verdicts(t, f, "--ops", ops.URL)
	require.NoError(t, err, out)
	require.Equal(t, map[string]verdict{
		"api": ok, "ledger, by the starter": ok, "ledger": skipped, "starter's health": ok, "redis": skipped, "temporal": skipped,
		"patrol": ok, "clock, this machine": ok, "clock, Temporal": skipped,
	}, seen)
	require.Contains(t, out, "LACUNA_MYSQL_DSN is not set")

	f.status.PatrolAge = durationpb.New(10 * time.Minute)
	ready = http.StatusServiceUnavailable
	seen, _, err = verdicts(t, f, "--ops", ops.URL)
	require.ErrorIs(t, err, errFindings)
	require.Equal(t, wrong, seen["patrol"])
	require.Equal(t, wrong, seen["starter's health"])

	f.status = &lacunav1.GetStatusResponse{Away: "the ledger is away"}
	seen, _, err = verdicts(t, f, "--ops", "http://127.0.0.1:1")
	require.ErrorIs(t, err, errFindings)
	require.Equal(t, wrong, seen["ledger, by the starter"])
	require.Equal(t, warning, seen["starter's health"], "it may be somewhere else")

	f.away = connect.NewError(connect.CodeUnavailable, errors.New("stopping"))
	seen, _, err = verdicts(t, f, "--ops", ops.URL)
	require.ErrorIs(t, err, errFindings)
	require.Equal(t, wrong, seen["api"])
}

func TestDoctorsVerdicts(t *testing.T) {
	mine := buildinfo.Info{Commit: "abc"}
	require.Equal(t, ok, versionCheck(buildinfo.Info{Commit: "abc"}, mine).Verdict)
	require.Equal(t, ok, versionCheck(buildinfo.Info{}, mine).Verdict)
	require.Equal(t, warning, versionCheck(buildinfo.Info{Commit: "abd"}, mine).Verdict)

	require.Equal(t, ok, redisCheck("noeviction").Verdict)
	require.Equal(t, warning, redisCheck("").Verdict)
	require.Equal(t, wrong, redisCheck("allkeys-lru").Verdict)

	require.Equal(t, warning, ledgerCheck(nil, "set sync_binlog=1").Verdict)
	require.Equal(t, "lacuna migrate up", schemaCheck(migrations.ErrSchema).Do)

	require.Equal(t, wrong, scheduleCheck("s", &client.ScheduleDescription{Schedule: client.Schedule{State: &client.ScheduleState{Paused: true, Note: "mia"}}}).Verdict)
	running := scheduleCheck("s", &client.ScheduleDescription{Schedule: client.Schedule{Spec: &client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: 5 * time.Second}}}}})
	require.Equal(t, checked{What: "s", Verdict: ok, Seen: "every 5s"}, running)
}

// The clock of a Temporal whose rounds have stopped would look as if it stood still.
func TestDoctorReadsNoClockOffAPatrolThatRests(t *testing.T) {
	every5s := &client.ScheduleDescription{Schedule: client.Schedule{Spec: &client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: 5 * time.Second}}}}}
	age := func(d time.Duration) *time.Duration { return &d }
	require.True(t, comes(every5s, age(6*time.Second)))
	require.False(t, comes(every5s, age(16*time.Second)))
	require.False(t, comes(every5s, nil))
	every5s.Schedule.State = &client.ScheduleState{Paused: true}
	require.False(t, comes(every5s, age(6*time.Second)))
}

func TestDoctorComparesClocks(t *testing.T) {
	clocks := func(ledger time.Duration, temporal span) (mine, its verdict) {
		all := checkClocks(t.Context(), &seen{ledger: &ledger, temporal: &temporal})
		return all[0].Verdict, all[1].Verdict
	}
	for _, c := range []struct {
		ledger    time.Duration
		temporal  span
		mine, its verdict
	}{
		{0, span{-time.Second, 4 * time.Second}, ok, ok},
		{10 * time.Second, span{9 * time.Second, 14 * time.Second}, warning, ok}, // only this machine is wrong
		{0, span{6 * time.Second, 11 * time.Second}, ok, wrong},
		{0, span{-time.Minute, -55 * time.Second}, ok, wrong},
		{0, span{-time.Hour, 5 * time.Second}, ok, ok}, // a last round long ago tells little
	} {
		mine, its := clocks(c.ledger, c.temporal)
		require.Equal(t, []verdict{c.mine, c.its}, []verdict{mine, its}, "%v", c)
	}
}
