package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// hook is a webhook that keeps the alerts it is sent.
func hook(t *testing.T) (url string, alerts chan map[string]any) {
	t.Helper()
	alerts = make(chan map[string]any, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var a map[string]any
		if json.NewDecoder(r.Body).Decode(&a) == nil {
			alerts <- a
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, alerts
}

// put makes or changes a biz type through the API.
func (s *stack) put(t *testing.T, settings string) {
	t.Helper()
	status, answer := s.post(t, "OperatorService/PutBizType", `{"bizType":`+settings+`}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
}

// operate calls the operator's API.
func (s *stack) operate(t *testing.T, method, body string) map[string]any {
	t.Helper()
	status, answer := s.post(t, "OperatorService/"+method, body)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	return answer
}

// abandon takes count numbers and abandons them all.
func (s *stack) abandon(t *testing.T, bizType string, count int) (tickets []string) {
	t.Helper()
	for left := count; left > 0; left -= min(left, 1000) {
		_, answer := s.call(t, "Next", fmt.Sprintf(`{"bizType":%q,"count":%d}`, bizType, min(left, 1000)))
		commands := []map[string]string{}
		for _, n := range answer["numbers"].([]any) {
			ticket := n.(map[string]any)["ticket"].(string)
			tickets, commands = append(tickets, ticket), append(commands, map[string]string{"ticket": ticket, "action": "ACTION_ABANDON"})
		}
		body, err := json.Marshal(map[string]any{"commands": commands})
		require.NoError(t, err)
		status, answer := s.call(t, "Settle", string(body))
		require.Equal(t, http.StatusOK, status, "%v", answer)
		for _, r := range answer["results"].([]any) {
			require.Equal(t, "OUTCOME_ABANDONED", r.(map[string]any)["outcome"])
		}
	}
	return tickets
}

// With Redis away every number ends as one dead letter, and people are told once; with Redis back an
// operator sends them home, once each (C15: the attempts are as many as the ladder says).
func TestDeadLettersAndTheWayBack(t *testing.T) {
	redis := testkit.OwnRedis(t)
	url, alerts := hook(t)
	s := newStackOn(t, redis.URL(0), "LACUNA_ALERT_URL="+url)
	s.put(t, `{"name":"FRAGILE","format":"F-{seq:6}","confirmTimeout":"60s","safetyWindow":"1s","retryDelays":["0.2s","0.4s","0.8s"]}`)
	redis.Kill()
	count := rounds(40, 1000)
	begun := time.Now()
	tickets := s.abandon(t, "FRAGILE", count)
	testkit.Eventually(t, func() bool { return s.count(t, "biz_type = 'FRAGILE' AND status = 6") > 0 }, "nothing died")
	first := <-alerts
	require.Equal(t, "DEAD_LETTER", first["kind"])
	sample := first["numbers"].([]any)[0].(map[string]any)
	require.Equal(t, "FRAGILE", sample["biz_type"])
	require.Contains(t, tickets, sample["ticket"])
	require.NotEmpty(t, sample["seq_no"])
	require.NotEmpty(t, sample["batch_id"])
	require.Contains(t, sample["reason"], "the pool is away")
	require.Equal(t, "http://ui/namespaces/default/workflows/"+sample["ticket"].(string), sample["run_url"])
	for dead := 0; dead < count; { // for as long as they come
		before := dead
		testkit.Eventually(t, func() bool { dead = s.count(t, "biz_type = 'FRAGILE' AND status = 6"); return dead > before }, "%d of %d died", dead, count)
	}
	t.Logf("%d dead letters in %s", count, time.Since(begun).Round(time.Second))
	require.LessOrEqual(t, len(alerts), int(time.Since(begun)/time.Minute), "one a minute")

	list := s.operate(t, "ListDeadLetters", `{"filter":{"bizType":"FRAGILE","cause":"DEAD_CAUSE_POOL_AWAY"},"pageSize":10}`)
	require.Len(t, list["deadLetters"], 10)
	require.NotEmpty(t, list["nextPageToken"])
	require.Equal(t, []any{map[string]any{"bizType": "FRAGILE", "cause": "DEAD_CAUSE_POOL_AWAY", "count": fmt.Sprint(count)}}, list["counts"], "each once")
	letter := list["deadLetters"].([]any)[0].(map[string]any)
	require.Equal(t, 3.0, letter["retries"], "attempts at 0 and after each pause")
	status := func() enumspb.WorkflowExecutionStatus {
		d, err := s.client.DescribeWorkflow(t.Context(), letter["ticket"].(string), "")
		require.NoError(t, err)
		return d.Status
	}
	testkit.Eventually(t, func() bool { return status() == enumspb.WORKFLOW_EXECUTION_STATUS_FAILED }, "the Temporal UI lists it as failed")

	t.Run("is the act of somebody, on something", func(t *testing.T) {
		for field, body := range map[string]string{
			"actor":  `{"filter":{"bizType":"FRAGILE"},"actor":" "}`,
			"filter": `{"actor":"mia"}`,
			"rate":   `{"filter":{"bizType":"FRAGILE"},"actor":"mia","rate":20000}`,
		} {
			code, answer := s.post(t, "OperatorService/RequeueDeadLetters", body)
			require.Equal(t, http.StatusBadRequest, code, "%v", answer)
			require.Contains(t, answer["message"], field)
		}
		code, answer := s.post(t, "OperatorService/WriteOffDeadLetters", `{"all":true,"actor":"mia"}`)
		require.Equal(t, http.StatusBadRequest, code)
		require.Contains(t, answer["message"], "reason")
	})

	// What is sent back too early dies again, and is listed as such.
	again := fmt.Sprintf(`{"filter":{"tickets":[%q]},"actor":"mia","reason":"I was sure"}`, letter["ticket"])
	require.Equal(t, 1.0, s.operate(t, "RequeueDeadLetters", again)["requeued"])
	failedAgain := func() []any {
		list, _ := s.operate(t, "ListDeadLetters", `{"filter":{"failedAgain":true}}`)["deadLetters"].([]any)
		return list
	}
	testkit.Eventually(t, func() bool { return len(failedAgain()) == 1 }, "it did not fail again")
	require.Equal(t, letter["ticket"], failedAgain()[0].(map[string]any)["ticket"])

	require.NoError(t, redis.Restart(t.Context()))
	i := slices.Index(tickets, list["deadLetters"].([]any)[1].(map[string]any)["ticket"].(string))
	unwanted := tickets[i]
	tickets = slices.Delete(tickets, i, i+1)
	written := s.operate(t, "WriteOffDeadLetters", fmt.Sprintf(`{"filter":{"tickets":[%q]},"reason":"never mind"}`, unwanted))
	require.Equal(t, 1.0, written["writtenOff"])
	n := s.awaitState(t, "FRAGILE", mustTicket(t, unwanted).SeqNo, sequence.Retired)
	require.Equal(t, "never mind", n.Reason)

	requeue := func(extra string) map[string]any {
		return s.operate(t, "RequeueDeadLetters", `{"filter":{"bizType":"FRAGILE"},"actor":"mia","reason":"Redis is back","rate":200,"limit":10000`+extra+`}`)
	}
	require.Equal(t, float64(count-1), requeue(`,"dryRun":true`)["requeued"])
	begun = time.Now()
	require.Equal(t, float64(count-1), requeue("")["requeued"])
	t.Logf("%d requeued in %s", count-1, time.Since(begun).Round(100*time.Millisecond))
	require.GreaterOrEqual(t, time.Since(begun), time.Duration(count-1-20)*time.Second/200, "not faster than it was asked to")
	require.Nil(t, requeue("")["requeued"], "twice is the same as once")
	for back := 0; back < count-1; {
		before := back
		testkit.Eventually(t, func() bool {
			back = s.count(t, "biz_type = 'FRAGILE' AND status = 4 AND life > 0")
			return back > before
		}, "%d of %d came back", back, count-1)
	}
	pooled := map[string]int{}
	testkit.Eventually(t, func() bool {
		entries, err := s.pool.Pop(t.Context(), "FRAGILE", "", 10_000)
		require.NoError(t, err)
		for _, e := range entries {
			pooled[e.SeqNo]++
			require.Equal(t, 1, pooled[e.SeqNo], "%s is in the pool once", e.SeqNo)
		}
		return !slices.ContainsFunc(tickets, func(ticket string) bool { return pooled[mustTicket(t, ticket).SeqNo] == 0 })
	}, "not all are in the pool")
	t.Logf("back in the pool after %s", time.Since(begun).Round(time.Second))
	s.closure(t)

	var told []string
	for _, e := range s.timeline(t, letter["ticket"].(string)) {
		told = append(told, fmt.Sprint(e["actor"], " ", e["what"]))
	}
	require.Equal(t, []string{"lacuna ISSUED", "<nil> ABANDONED", "lacuna DEAD", storyteller + " REQUEUED", "lacuna DEAD", storyteller + " REQUEUED"}, told)
	require.Equal(t, "I was sure (noted: mia)", s.timeline(t, letter["ticket"].(string))[3]["reason"])
}

// Where callers may use a number and not say so, silence is left to a person.
func TestSilenceThatIsLeftToAPerson(t *testing.T) {
	s := newStack(t)
	s.put(t, `{"name":"SHY","format":"Y-{seq:6}","confirmTimeout":"1s","safetyWindow":"1s","durableIssue":true,"onTimeout":"ON_TIMEOUT_DEAD_LETTER"}`)
	used, usedNo := s.next(t, "SHY")
	unused, unusedNo := s.next(t, "SHY")
	for _, seqNo := range []string{usedNo, unusedNo} {
		require.Equal(t, sequence.ReasonNotConfirmed, s.awaitState(t, "SHY", seqNo, sequence.Dead).Reason)
	}
	counts := s.operate(t, "ListDeadLetters", `{}`)["counts"]
	require.Equal(t, []any{map[string]any{"bizType": "SHY", "cause": "DEAD_CAUSE_NOT_CONFIRMED", "count": "2"}}, counts)
	require.Equal(t, "OUTCOME_RESCUED", s.settle(t, "Confirm", used))
	s.operate(t, "RequeueDeadLetters", `{"filter":{"tickets":["`+unused+`"]},"actor":"mia","reason":"nobody has it"}`)
	require.Equal(t, sequence.Abandoned, s.row(t, "SHY", unusedNo).State, "through a full window first")
	s.awaitState(t, "SHY", unusedNo, sequence.Replayable)
	s.closure(t)
}

func mustTicket(t *testing.T, text string) sequence.Ticket {
	t.Helper()
	ticket, err := sequence.ParseTicket(text)
	require.NoError(t, err)
	return ticket
}

// timeline is what Get shows of all lives of a number.
func (s *stack) timeline(t *testing.T, ticket string) (entries []map[string]any) {
	t.Helper()
	status, answer := s.call(t, "Get", `{"ticket":"`+ticket+`"}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	for _, e := range answer["timeline"].([]any) {
		entries = append(entries, e.(map[string]any))
	}
	return entries
}
