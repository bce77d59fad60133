package e2e

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// A number is given up and confirmed all the same: the advice on its biz type's window shows how late, to
// whoever asks by the API or the command line.
func TestALateConfirmShowsInTheAdviceOnItsWindow(t *testing.T) {
	s := newStack(t)
	s.put(t, `{"name":"LATE","format":"L-{seq:6}","confirmTimeout":"60s","safetyWindow":"20s"}`)
	advise := func(body string) map[string]any { return s.operate(t, "AdviseWindow", body) }
	nothing := advise(`{"bizType":"LATE"}`)
	require.Nil(t, nothing["since"])
	require.Equal(t, "20s", nothing["safetyWindow"])
	require.Contains(t, nothing["remarks"].([]any)[0], "too little was seen")

	late, _ := s.next(t, "LATE")
	require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", late))
	given, _ := s.next(t, "LATE")
	require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", given))
	kept, _ := s.next(t, "LATE")
	require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", kept))
	require.Equal(t, "OUTCOME_RESCUED", s.settle(t, "Confirm", late))

	var seen map[string]any
	count := func(of string) any { return seen[of].(map[string]any)["count"] }
	testkit.Eventually(t, func() bool {
		seen = advise(`{"bizType":"LATE","days":2,"windows":["1s","3600s"]}`)
		return seen["since"] != nil && count("lateConfirms") == "1" && count("confirms") == "1"
	}, "what was counted is not written")
	require.Equal(t, "2", count("abandonments"))
	maxLate, err := time.ParseDuration(seen["lateConfirms"].(map[string]any)["max"].(string))
	require.NoError(t, err)
	require.Positive(t, maxLate)
	var windows []any
	for _, c := range seen["choices"].([]any) {
		windows = append(windows, c.(map[string]any)["window"])
		require.Positive(t, c.(map[string]any)["held"])
	}
	require.Equal(t, []any{"1s", "20s", "3600s"}, windows)
	require.Nil(t, seen["noneAfter"], "two confirms are too little to go by")
	_, lateAfterAnHour := seen["choices"].([]any)[2].(map[string]any)["lateAfter"]
	require.False(t, lateAfterAnHour)

	out, code := s.lacuna(t, "window", "LATE", "--windows", "5s")
	require.Zero(t, code, "%s", out)
	require.Contains(t, out, "late confirms")
	require.Contains(t, out, "note: too little was seen")
	out, code = s.lacuna(t, "window", "LATE", "--output", "json")
	require.Zero(t, code, "%s", out)
	require.True(t, json.Valid([]byte(out)), out)

	for _, body := range []string{`{}`, `{"bizType":"late"}`, `{"bizType":"LATE","days":36}`, `{"bizType":"LATE","days":-1}`, `{"bizType":"LATE","windows":["0.5s"]}`, `{"bizType":"LATE","windows":["2592001s"]}`} {
		status, answer := s.post(t, "OperatorService/AdviseWindow", body)
		require.Equal(t, http.StatusBadRequest, status, "%s: %v", body, answer)
	}
	status, _ := s.post(t, "OperatorService/AdviseWindow", `{"bizType":"NONE"}`)
	require.Equal(t, http.StatusNotFound, status)

	// What is counted when a process stops is written then.
	kept, _ = s.next(t, "LATE")
	require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", kept))
	require.NoError(t, s.starter.Stop(t.Context()))
	d, err := s.ledger.Delays(t.Context(), "LATE", 2)
	require.NoError(t, err)
	require.Equal(t, int64(2), d.Confirmed.Count())
}
