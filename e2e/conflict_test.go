package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// A holder whose number was issued again is told so, with both tickets, and people are told of both
// holders, once.
func TestAConflictNamesBothHolders(t *testing.T) {
	url, alerts := hook(t)
	s := newStack(t, "LACUNA_ALERT_URL="+url)
	first, seqNo := s.next(t, "DEMO")
	s.awaitState(t, "DEMO", seqNo, sequence.Replayable)
	var second string
	testkit.Eventually(t, func() bool {
		_, answer := s.call(t, "Next", `{"bizType":"DEMO","bizKey":"o-2"}`)
		n := answer["numbers"].([]any)[0].(map[string]any)
		second = n["ticket"].(string)
		return n["seqNo"] == seqNo
	}, "it is not issued again")
	require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", second))
	for range 2 {
		status, answer := s.call(t, "Confirm", `{"ticket":"`+first+`","bizKey":"o-1"}`)
		require.Equal(t, http.StatusConflict, status)
		require.Equal(t, "already_exists", answer["code"])
		require.Contains(t, answer["message"], first)
		require.Contains(t, answer["message"], second)
	}
	conflicts := s.operate(t, "ListConflicts", `{"bizType":"DEMO"}`)["conflicts"].([]any)
	require.Len(t, conflicts, 1)
	c := conflicts[0].(map[string]any)
	require.Equal(t, first, c["ticket"])
	require.Equal(t, "o-1", c["bizKey"])
	require.Equal(t, second, c["currentTicket"])
	require.Equal(t, "o-2", c["currentBizKey"])
	require.NotEmpty(t, c["currentIssuedTime"])
	require.NotEmpty(t, c["detectedTime"])

	a := <-alerts
	require.Equal(t, "CONFLICT", a["kind"])
	require.Equal(t, 1.0, a["count"])
	n := a["numbers"].([]any)[0].(map[string]any)
	require.Equal(t, first, n["ticket"])
	require.Equal(t, "o-1", n["biz_key"])
	require.Equal(t, "held by "+second+" for o-2", n["reason"])

	// The whole story stays readable in the ledger, whatever Temporal has forgotten (C65).
	var told []string
	for _, e := range s.timeline(t, second) {
		told = append(told, e["what"].(string)+" "+e["ticket"].(string))
	}
	require.Equal(t, []string{"ISSUED " + first, "ABANDONED " + first, "ISSUED " + second, "CONFIRMED " + second, "CONFLICT " + first}, told)
}
