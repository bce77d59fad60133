package e2e

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// C70: a worker keeps few of the runs that wait in memory, and those that it does not keep react all the same.
func TestMoreWaitingRunsThanAWorkerKeeps(t *testing.T) {
	count, memory := rounds(60, 20_000), "GOMEMLIMIT=400MiB"
	s := newStack(t, "LACUNA_WORKFLOW_CACHE="+strconv.Itoa(count/10), memory)
	s.put(t, `{"name":"LONG","format":"L-{seq:6}","confirmTimeout":"7200s","safetyWindow":"7200s"}`)
	m := newMill(s, "LONG", 20, 100)
	var tickets []string
	for len(tickets) < count { // at a pace that Temporal can follow: each has its own run
		batch := m.take(t.Context(), t, m.size)
		m.settle(t.Context(), t, batch, 100)
		tickets = append(tickets, batch...)
		testkit.Within(t, 5*time.Minute, func() bool { return s.open(t, "LONG") >= len(tickets)-m.size }, "the runs are not started")
	}
	require.Zero(t, s.count(t, "biz_type = 'LONG' AND status = 3 AND NOT tracked"))
	for _, ticket := range tickets[:count/2] {
		require.NoError(t, s.client.TerminateWorkflow(t.Context(), ticket, "", "half of them"))
	}
	t.Logf("the worker has %d MiB with %d runs waiting, half of them terminated", s.worker.memory(t)>>20, count)
	require.NoError(t, s.worker.Err())
	for _, ticket := range tickets[count/2:] {
		require.Equal(t, "OUTCOME_RESCUED", s.settle(t, "Confirm", ticket))
	}
	testkit.Within(t, 20*time.Minute, func() bool { return s.open(t, "LONG") == 0 }, "runs that are not kept do not react")
	require.Equal(t, sequence.Abandoned, s.row(t, "LONG", mustTicket(t, tickets[0]).SeqNo).State, "it waits for the patrol")
}

// open counts the biz type's open runs, as Temporal lists them.
func (s *stack) open(t *testing.T, bizType string) int {
	t.Helper()
	count, err := s.client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
		Query: "BizType = '" + bizType + "' AND ExecutionStatus = 'Running'",
	})
	require.NoError(t, err)
	return int(count.GetCount())
}

// memory is what the program has of it, in bytes.
func (p *process) memory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.Pid()) + "/status")
	require.NoError(t, err)
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, m)
	kib, err := strconv.Atoi(string(m[1]))
	require.NoError(t, err)
	return kib << 10
}
