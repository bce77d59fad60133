package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/internal/bearer"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// mill is callers that take numbers many at a time and settle them together, some by abandoning them.
type mill struct {
	api     lacunav1connect.SequenceServiceClient
	bizType string
	size    int // of one call
	abandon int // of a hundred

	issued    atomic.Int64
	abandoned atomic.Int64

	mu   sync.Mutex
	seen map[string]struct{} // every ticket
}

func newMill(s *stack, bizType string, size, abandon int) *mill {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	return &mill{api: lacunav1connect.NewSequenceServiceClient(client, s.starter.url, connect.WithInterceptors(bearer.Interceptor(func() (string, error) { return s.token, nil }))), bizType: bizType, size: size, abandon: abandon, seen: map[string]struct{}{}}
}

// take takes one call's worth of numbers; no ticket is ever given twice.
func (m *mill) take(ctx context.Context, t *testing.T, count int) (tickets []string) {
	response, err := m.api.Next(ctx, connect.NewRequest(&lacunav1.NextRequest{BizType: m.bizType, Count: proto.Int32(int32(count))})) //nolint:gosec // 10,000 at most
	if code := connect.CodeOf(err); code == connect.CodeResourceExhausted || code == connect.CodeUnavailable {
		return nil // asked again: nothing was taken
	}
	if !assert.NoError(t, err) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range response.Msg.GetNumbers() {
		_, twice := m.seen[n.GetTicket()]
		assert.False(t, twice, "%s was given twice", n.GetTicket())
		m.seen[n.GetTicket()] = struct{}{}
		tickets = append(tickets, n.GetTicket())
	}
	m.issued.Add(int64(len(tickets)))
	return tickets
}

// settle settles them and requires that each was settled as it was asked.
func (m *mill) settle(ctx context.Context, t *testing.T, tickets []string, abandon int) {
	r := &lacunav1.SettleRequest{}
	for i, ticket := range tickets {
		action := lacunav1.Action_ACTION_CONFIRM
		if i*100 < abandon*len(tickets) {
			action = lacunav1.Action_ACTION_ABANDON
			m.abandoned.Add(1)
		}
		r.Commands = append(r.Commands, &lacunav1.Command{Ticket: ticket, Action: action})
	}
	response, err := m.api.Settle(ctx, connect.NewRequest(r))
	if !assert.NoError(t, err) {
		return
	}
	for _, result := range response.Msg.GetResults() {
		o := result.GetOutcome()
		assert.True(t, o == lacunav1.Outcome_OUTCOME_CONFIRMED || o == lacunav1.Outcome_OUTCOME_ABANDONED, "%v", result)
	}
}

// grind goes on for as long as it is told to, with so many callers, and gives the numbers a second.
func (m *mill) grind(t *testing.T, callers int, lasts time.Duration) float64 {
	t.Helper()
	before, begun := m.issued.Load(), time.Now()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for time.Since(begun) < lasts && !t.Failed() {
				if tickets := m.take(t.Context(), t, m.size); len(tickets) > 0 {
					m.settle(t.Context(), t, tickets, m.abandon)
				}
			}
		})
	}
	all.Wait()
	return float64(m.issued.Load()-before) / time.Since(begun).Seconds()
}

// The whole loop where no number has a run of its own: taken, settled, given back by the patrol, and taken
// again. The rates are printed, not judged.
func TestTheWholeLoopWithoutRuns(t *testing.T) {
	s := newStack(t)
	s.put(t, `{"name":"BULK","format":"B-{seq:9}","confirmTimeout":"5s","safetyWindow":"1s","stepMax":10000,"track":"TRACK_NONE"}`)
	m := newMill(s, "BULK", 100, 6)
	lasts := time.Duration(rounds(3, 300)) * time.Second
	t.Logf("%.0f numbers/s through the whole loop, in calls of %d", m.grind(t, 8, lasts), m.size)
	single := newMill(s, "BULK", 1, 6)
	single.seen = m.seen
	t.Logf("%.0f numbers/s with single calls", single.grind(t, 16, time.Duration(rounds(1, 60))*time.Second))

	// What was taken and not settled is given up, and all that was given up comes back.
	forgotten := m.take(t.Context(), t, 500)
	require.Len(t, forgotten, 500)
	testkit.Within(t, 2*time.Minute, func() bool { return s.count(t, "biz_type = 'BULK' AND status IN (1, 3)") == 0 }, "numbers hang")
	require.Zero(t, s.count(t, "biz_type = 'BULK' AND tracked"))
	retired := s.count(t, "biz_type = 'BULK' AND status = 7")
	require.Zero(t, s.count(t, "biz_type = 'BULK' AND status NOT IN (0, 2, 4, 5, 7)"))
	free := s.count(t, "biz_type = 'BULK' AND status IN (4, 5) AND life > 0")
	t.Logf("%d hand-outs, %d given up, %d of them free and %d retired now", m.issued.Load()+single.issued.Load(), m.abandoned.Load()+single.abandoned.Load()+500, free, retired)
	require.Positive(t, free)
	testkit.Within(t, 2*time.Minute, func() bool {
		m.settle(t.Context(), t, m.take(t.Context(), t, 100), 0)
		return s.count(t, "biz_type = 'BULK' AND status IN (4, 5) AND life > 0") == 0
	}, "the pool is not drained back into issue")
	s.closure(t)
	n, err := s.ledger.BizType(t.Context(), "BULK")
	require.NoError(t, err)
	require.Equal(t, sequence.TrackNone, n.Track)
}

// Where only uniqueness counts a number costs its issue and nothing more: no run, no wait, no second write, no way back.
func TestABizTypeThatNeedsNoneCostsItsIssueOnly(t *testing.T) {
	s := newStack(t)
	s.put(t, `{"name":"TRACE","format":"T-{seq:9}","confirmTimeout":"1s","safetyWindow":"1s","reuse":"REUSE_NEVER","track":"TRACK_NONE","durableIssue":true}`)
	status, answer := s.call(t, "Next", `{"bizType":"TRACE","count":500}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	first := answer["numbers"].([]any)[0].(map[string]any)
	require.NotContains(t, first, "confirmBy")
	require.Equal(t, 500, s.count(t, "biz_type = 'TRACE' AND status = 2 AND deadline IS NULL AND NOT tracked AND version = 1"), "one insert with its block, one update at its issue")
	testkit.Pass(t, 2*time.Second) // a confirm timeout and a window
	s.patrols(t, 2)
	require.Equal(t, 500, s.count(t, "biz_type = 'TRACE' AND status = 2 AND version = 1"), "nothing was written after it")
	runs, err := s.client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "BizType = 'TRACE'"})
	require.NoError(t, err)
	require.Zero(t, runs.GetCount())
	free, err := s.pool.Size(t.Context(), "TRACE", "")
	require.NoError(t, err)
	require.Zero(t, free)
	require.Equal(t, "OUTCOME_ALREADY_CONFIRMED", s.settle(t, "Confirm", first["ticket"].(string)))
	require.Equal(t, "failed_precondition", s.settle(t, "Abandon", first["ticket"].(string)))
	s.closure(t)
}

// The rules change while callers take numbers, and a process hears of it seconds later. What a caller was told of its
// number holds: one that is final is never given to another, and one that waits for a confirm can be confirmed or given up.
func TestWhatACallerWasToldHoldsWhenTheRulesChange(t *testing.T) {
	s := newStack(t)
	s.put(t, `{"name":"TRACE","format":"T-{seq:9}","confirmTimeout":"1s","safetyWindow":"1s","reuse":"REUSE_NEVER","track":"TRACK_NONE","durableIssue":true}`)
	final, waits := map[string]bool{}, map[string]string{} // seq nos; tickets by seq no
	calls := 0
	take := func() {
		calls++
		header := http.Header{}
		if calls%2 == 0 {
			header.Set("Idempotency-Key", fmt.Sprint("call-", calls))
		}
		status, answer := s.postWith(t, header, "SequenceService/Next", `{"bizType":"TRACE","count":5}`)
		if status != http.StatusOK {
			return // memory is filled again under the new rules
		}
		for _, n := range answer["numbers"].([]any) {
			n := n.(map[string]any)
			seqNo := n["seqNo"].(string)
			require.False(t, final[seqNo], "%s is final, and was given to another", seqNo)
			if n["confirmBy"] == nil {
				final[seqNo] = true
			} else {
				waits[seqNo] = n["ticket"].(string)
			}
		}
	}
	change := func(fields string) {
		_, answer := s.post(t, "OperatorService/GetBizType", `{"name":"TRACE"}`)
		s.put(t, fmt.Sprintf(`{"name":"TRACE","revision":"%v",%s}`, answer["bizType"].(map[string]any)["revision"], fields))
	}
	for _, to := range []struct {
		fields string
		come   func() bool
	}{
		{`"reuse":"REUSE_ANY","track":"TRACK_EVERY"`, func() bool { return len(waits) > 0 }},
		{`"reuse":"REUSE_NEVER","track":"TRACK_NONE"`, func() bool { was := len(final); take(); return len(final) > was }},
	} {
		take()
		change(to.fields)
		testkit.Eventually(t, func() bool { take(); return to.come() }, "the new rules never come: %s", to.fields)
	}
	require.NotEmpty(t, final)
	for seqNo := range final {
		require.Equal(t, sequence.Confirmed, s.row(t, "TRACE", seqNo).State, seqNo)
	}
	for seqNo := range waits {
		require.NotEqual(t, sequence.Confirmed, s.row(t, "TRACE", seqNo).State, "%s: nobody confirmed it", seqNo)
	}
	s.closure(t)
}
