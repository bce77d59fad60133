package e2e

import (
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// Everything fails that can, under load: Temporal is away for long, the worker too, the pool is flushed, runs are
// terminated by hand, and at last every process is killed. Two rounds of the patrol after all is back, every
// number is confirmed, held by a live run or by a caller in its time, in its window, or in the pool.
func TestRuinAndRecovery(t *testing.T) {
	redis := testkit.OwnRedis(t)
	s := newStackOn(t, redis.URL(0))
	s.put(t, `{"name":"RUIN","format":"R-{seq:8}","confirmTimeout":"5s","safetyWindow":"1s","maxReplays":1000}`)
	m := newMill(s, "RUIN", 4, 25)
	stop := make(chan struct{})
	var all sync.WaitGroup
	for caller := range 2 {
		all.Go(func() {
			tick := time.NewTicker(200 * time.Millisecond) // what Temporal can follow
			defer tick.Stop()
			for call := 0; ; call++ {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
				tickets := m.take(t.Context(), t, m.size)
				if (call+caller)%3 != 0 && len(tickets) > 0 { // a third of the calls is never heard of again
					m.settle(t.Context(), t, tickets, m.abandon)
				}
			}
		})
	}
	load := func(d time.Duration) { testkit.Pass(t, d) }
	load(2 * time.Second)
	s.temporal.Kill()
	load(time.Duration(rounds(6, 120)) * time.Second)
	require.NoError(t, s.temporal.Restart(t.Context()))
	s.worker.Kill()
	load(2 * time.Second)
	flush := goredis.NewClient(&goredis.Options{Addr: redis.Address()})
	require.NoError(t, flush.FlushAll(t.Context()).Err())
	require.NoError(t, flush.Close())
	s.restart(t, s.worker)
	for range rounds(1, 4) {
		s.terminateSome(t, rounds(10, 50))
		load(time.Second)
	}
	close(stop)
	all.Wait()
	s.worker.Kill()
	s.starter.Kill()
	s.temporal.Kill()
	redis.Kill()
	require.NoError(t, redis.Restart(t.Context()))
	require.NoError(t, s.temporal.Restart(t.Context()))
	s.restart(t, s.starter)
	s.restart(t, s.worker)
	begun := time.Now()
	s.patrols(t, 2)
	// What is overdue for longer than two rounds has nobody who sees to it, or a worker that died has it.
	testkit.Within(t, 3*time.Minute, func() bool {
		return s.count(t, "status IN (1, 3) AND deadline < UTC_TIMESTAMP(6) - INTERVAL 15 SECOND") == 0
	}, "numbers hang")
	t.Logf("nothing hangs %s after all is back; %d hand-outs", time.Since(begun).Round(time.Second), m.issued.Load())
	testkit.Within(t, 3*time.Minute, func() bool { return s.count(t, "biz_type = 'RUIN' AND status IN (1, 3)") == 0 }, "numbers do not come to their ends")
	assert.Zero(t, s.count(t, "status = 6"))
	s.closure(t)
}

// terminateSome ends open runs by hand, as somebody might who tidies up.
func (s *stack) terminateSome(t *testing.T, count int) {
	t.Helper()
	list, err := s.client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
		Query: "BizType = 'RUIN' AND ExecutionStatus = 'Running'", PageSize: int32(count), //nolint:gosec // few
	})
	require.NoError(t, err)
	for _, run := range list.GetExecutions() {
		_ = s.client.TerminateWorkflow(t.Context(), run.GetExecution().GetWorkflowId(), "", "tidied up") // it may have closed
	}
}
