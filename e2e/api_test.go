package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// What answers what: design section 8.
func TestTheAPIOverPlainJSON(t *testing.T) {
	s := newStack(t)

	t.Run("bad input is INVALID_ARGUMENT with the field, and takes nothing", func(t *testing.T) {
		long := strings.Repeat("9", 65)
		for _, tt := range []struct{ method, body, field string }{
			{"Next", `{}`, "bizType"},
			{"Next", `{"bizType":"demo"}`, "bizType"},
			{"Next", `{"bizType":"DEMO "}`, "bizType"},
			{"Next", `{"bizType":"DEMO\u00a0"}`, "bizType"},
			{"Next", `{"bizType":"ＤＥＭＯ"}`, "bizType"},
			{"Next", `{"bizType":"DE\u0000MO"}`, "bizType"},
			{"Next", `{"bizType":"DEMO","bizKey":"a\nb"}`, "bizKey"},
			{"Next", `{"bizType":"DEMO","bizKey":"` + strings.Repeat("k", 129) + `"}`, "bizKey"},
			{"Confirm", `{}`, "ticket"},
			{"Confirm", `{"ticket":"DEMO~D-000001"}`, "ticket"},
			{"Confirm", `{"ticket":"DEMO~D-000001~01"}`, "ticket"},
			{"Confirm", `{"ticket":"DEMO~` + long + `~1"}`, "ticket"},
			{"Confirm", `{"ticket":"DEMO~D-000001~1","bizType":"DEMO"}`, "ticket"},
			{"Confirm", `{"bizType":"DEMO","seqNo":"D 1"}`, "seqNo"},
			{"Confirm", `{"bizType":"DEMO"}`, "seqNo"},
			{"Abandon", `{"ticket":"nonsense"}`, "ticket"},
			{"Get", `{"ticket":"nonsense"}`, "ticket"},
			{"Settle", `{}`, "commands"},
		} {
			status, answer := s.call(t, tt.method, tt.body)
			require.Equal(t, http.StatusBadRequest, status, "%s %s: %v", tt.method, tt.body, answer)
			require.Equal(t, "invalid_argument", answer["code"])
			require.Contains(t, fmt.Sprint(answer["details"]), tt.field, "%s %s", tt.method, tt.body)
		}
		for _, tt := range []struct{ method, body string }{ // refused before it is read as a message
			{"Next", `{"biztype":"DEMO"}`},
			{"Next", `{"bizType":7}`},
			{"Next", `not json`},
			{"Confirm", `{"bizType":"DEMO","seqNo":123}`},
			{"Next", `{"bizType":"DEMO","bizKey":"` + strings.Repeat("k", 1<<20) + `"}`},
		} {
			status, answer := s.call(t, tt.method, tt.body)
			require.Equal(t, http.StatusBadRequest, status, "%.60s: %v", tt.body, answer)
			require.Equal(t, "invalid_argument", answer["code"], "%.60s", tt.body)
		}
		require.Zero(t, s.count(t, "life > 0"))
	})

	t.Run("what does not exist is NOT_FOUND", func(t *testing.T) {
		for _, tt := range []struct{ method, body string }{
			{"Next", `{"bizType":"NONE"}`},
			{"Confirm", `{"ticket":"DEMO~D-999998~1"}`},
			{"Confirm", `{"ticket":"NONE~D-000001~1"}`},
			{"Confirm", `{"bizType":"DEMO","seqNo":"D-999998"}`},
			{"Abandon", `{"ticket":"DEMO~D-999998~1"}`},
			{"Get", `{"bizType":"DEMO","seqNo":"D-999998"}`},
			{"Get", `{"bizType":"DEMO","seqNo":"12"}`},
			{"Get", `{"bizType":"NONE","seqNo":"D-000001"}`},
		} {
			status, answer := s.call(t, tt.method, tt.body)
			require.Equal(t, http.StatusNotFound, status, "%s %s: %v", tt.method, tt.body, answer)
			require.Equal(t, "not_found", answer["code"])
		}
		for seqNo, why := range map[string]string{"D-999998": "no such number was allocated yet", "12": "it is not of the format D-{seq:6}"} {
			_, answer := s.call(t, "Get", `{"bizType":"DEMO","seqNo":"`+seqNo+`"}`)
			require.Contains(t, answer["message"], why)
		}
	})

	t.Run("a refusal names both tickets", func(t *testing.T) {
		ticket, _ := s.next(t, "DEMO")
		require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", ticket))
		status, answer := s.call(t, "Abandon", `{"ticket":"`+ticket+`"}`)
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, "failed_precondition", answer["code"])
		details := fmt.Sprint(answer["details"])
		require.Contains(t, details, "lacuna.v1.Refusal")
		require.Contains(t, details, "OUTCOME_ALREADY_CONFIRMED")
		require.Contains(t, details, ticket)
	})

	t.Run("Settle answers each command in its place", func(t *testing.T) {
		confirm, _ := s.next(t, "DEMO")
		abandon, _ := s.next(t, "DEMO")
		status, answer := s.call(t, "Settle", `{"commands":[
			{"ticket":"`+confirm+`","action":"ACTION_CONFIRM","bizKey":"o-1"}, {"ticket":"nonsense","action":"ACTION_CONFIRM"},
			{"ticket":"`+abandon+`","action":"ACTION_ABANDON"}, {"ticket":"`+confirm+`"}, {"ticket":"`+confirm+`","action":"ACTION_ABANDON"}]}`)
		require.Equal(t, http.StatusOK, status, "%v", answer)
		results := answer["results"].([]any)
		require.Len(t, results, 5)
		require.Equal(t, "OUTCOME_CONFIRMED", results[0].(map[string]any)["outcome"])
		require.Contains(t, fmt.Sprint(results[1]), "invalid_argument")
		require.Equal(t, "OUTCOME_ABANDONED", results[2].(map[string]any)["outcome"])
		require.Contains(t, fmt.Sprint(results[3]), "action")
		require.Contains(t, fmt.Sprint(results[4]), "OUTCOME_ALREADY_CONFIRMED")
	})

	t.Run("Next hands out as many as it is asked for", func(t *testing.T) {
		status, answer := s.call(t, "Next", `{"bizType":"DEMO","count":500}`)
		require.Equal(t, http.StatusOK, status)
		seen := map[string]bool{}
		for _, n := range answer["numbers"].([]any) {
			seen[n.(map[string]any)["ticket"].(string)] = true
		}
		require.Len(t, seen, 500)
	})

	// C56, C73: numbers with prefix and zeros, and ones that look like integers, stay strings on their whole way.
	t.Run("a number is a string, whatever it looks like", func(t *testing.T) {
		for i, tt := range []struct{ format, start, want string }{
			{"A-{seq:6}", "123", "A-000123"}, {"{seq:7}", "123", "0000123"}, {"2026-{seq:6}", "123", "2026-000123"},
			{"ORDER{seq:3}", "123", "ORDER123"}, {"{seq:16}", "9007199254740993", "9007199254740993"}, {"BB{seq:8}", "2365", "BB00002365"},
		} {
			name := fmt.Sprintf("STRING_%d", i)
			status, answer := s.post(t, "OperatorService/PutBizType", `{"bizType":{"name":"`+name+`","format":"`+tt.format+`","start":"`+tt.start+`","safetyWindow":"1s"}}`)
			require.Equal(t, http.StatusOK, status, "%v", answer)
			ticket, seqNo := s.next(t, name)
			require.Equal(t, tt.want, seqNo)
			require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
			s.awaitState(t, name, seqNo, sequence.Replayable)
			var again string
			testkit.Eventually(t, func() bool { ticket, again = s.next(t, name); return again == seqNo }, "it is not issued again")
			require.Equal(t, name+"~"+tt.want+"~2", ticket)
			require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", ticket))
			status, answer = s.call(t, "Get", `{"bizType":"`+name+`","seqNo":"`+seqNo+`"}`)
			require.Equal(t, http.StatusOK, status)
			number := answer["number"].(map[string]any)
			require.Equal(t, tt.want, number["seqNo"])
			require.Equal(t, tt.start, number["value"], "64 bits are a decimal string in JSON")
		}
	})

	t.Run("a keyed Next is answered the same, by header or field", func(t *testing.T) {
		keyed := func(header, body string) (int, map[string]any) {
			return s.postWith(t, http.Header{"Idempotency-Key": {header}}, "SequenceService/Next", body)
		}
		status, first := s.call(t, "Next", `{"bizType":"DEMO","bizKey":"o-1","idempotencyKey":"k-1"}`)
		require.Equal(t, http.StatusOK, status, "%v", first)
		for _, header := range []string{"k-1", `"k-1"`} {
			status, again := keyed(header, `{"bizType":"DEMO","bizKey":"o-1"}`)
			require.Equal(t, http.StatusOK, status, "%v", again)
			ticket := func(answer map[string]any) any { return answer["numbers"].([]any)[0].(map[string]any)["ticket"] }
			require.Equal(t, ticket(first), ticket(again))
		}
		status, answer := keyed("k-1", `{"bizType":"DEMO","bizKey":"o-2"}`)
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, "failed_precondition", answer["code"])
		require.Contains(t, fmt.Sprint(answer["details"]), "IDEMPOTENCY_KEY_REUSED")
		ticket := first["numbers"].([]any)[0].(map[string]any)["ticket"].(string)
		require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
		status, answer = keyed("k-1", `{"bizType":"DEMO","bizKey":"o-1"}`)
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, fmt.Sprint(answer["details"]), "IDEMPOTENCY_KEY_SPENT")
		require.Contains(t, fmt.Sprint(answer["details"]), "ABANDONED")
		for _, header := range []string{"", strings.Repeat("k", 129)} {
			status, answer = keyed(header, `{"bizType":"DEMO"}`)
			require.Equal(t, http.StatusBadRequest, status, "%q: %v", header, answer)
		}
		status, _ = keyed("k-2", `{"bizType":"DEMO","idempotencyKey":"k-3"}`)
		require.Equal(t, http.StatusBadRequest, status)
	})

	t.Run("metrics are shown, without a label per number or for what does not exist", func(t *testing.T) { // C71
		for _, name := range []string{"NOBODYS", "NOBODYS_2"} {
			status, _ := s.call(t, "Next", `{"bizType":"`+name+`"}`)
			require.Equal(t, http.StatusNotFound, status)
			s.call(t, "Confirm", `{"ticket":"`+name+`~N-1~1"}`)
		}
		text := s.scrape(t, s.starter)
		require.Contains(t, text, `lacuna_issued_total{biz_type="DEMO",source="segment"}`)
		require.Contains(t, text, `lacuna_commands_total{biz_type="DEMO",kind="confirm",outcome="CONFIRMED"}`)
		require.Contains(t, text, "lacuna_next_duration_seconds_bucket")
		require.NotContains(t, text, "D-0000")
		require.NotContains(t, text, "NOBODYS")
	})
}
