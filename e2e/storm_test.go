package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// A dependency is down, and all that was handed out is abandoned at once, far faster than Temporal can follow.
// Each abandon is accepted and none is lost, and who takes numbers meanwhile feels little of it. In full the
// starter and the prober have one core to themselves.
func TestAStormOfAbandonments(t *testing.T) {
	s := newStack(t)
	count := rounds(3_000, 100_000)
	s.put(t, `{"name":"STORM","format":"S-{seq:9}","confirmTimeout":"600s","safetyWindow":"5s","stepMax":10000,"track":"TRACK_EVERY","directSignals":false}`)
	s.put(t, `{"name":"QUIET","format":"Q-{seq:9}","confirmTimeout":"600s","safetyWindow":"600s","track":"TRACK_NONE"}`)
	if count == 100_000 {
		s.pin(t)
	}
	m := newMill(s, "STORM", 500, 100)
	var tickets []string
	for len(tickets) < count {
		tickets = append(tickets, m.take(t.Context(), t, m.size)...)
	}
	testkit.Within(t, 2*time.Minute, func() bool { return s.count(t, "biz_type = 'STORM' AND status = 1") == count }, "not all are recorded")
	untracked := s.count(t, "biz_type = 'STORM' AND status = 1 AND NOT tracked")

	probe := newMill(s, "QUIET", 1, 0)
	p99 := func(until <-chan struct{}) time.Duration {
		var took []time.Duration
		for {
			select {
			case <-until:
				slices.Sort(took)
				return took[len(took)*99/100]
			default:
				begun := time.Now()
				probe.take(t.Context(), t, 1)
				took = append(took, time.Since(begun))
				testkit.Pass(t, 2*time.Millisecond) // the rhythm of one caller
			}
		}
	}
	quiet := make(chan struct{})
	time.AfterFunc(time.Duration(rounds(1, 10))*time.Second, func() { close(quiet) })
	calm := p99(quiet)

	begun, over := time.Now(), make(chan struct{})
	var all sync.WaitGroup
	for part := range slices.Chunk(tickets, (count+3)/4) {
		all.Go(func() {
			pace := time.NewTicker(10 * time.Second * time.Duration(m.size) * 4 / 100_000) // 100,000 in 10 s
			defer pace.Stop()
			for batch := range slices.Chunk(part, m.size) {
				<-pace.C
				m.settle(t.Context(), t, batch, 100)
			}
		})
	}
	go func() { all.Wait(); close(over) }()
	stormy := p99(over)
	t.Logf("%d abandoned in %s; p99 of Next %s quiet, %s in the storm (%.1f times); %d had no run of their own at its beginning",
		count, time.Since(begun).Round(100*time.Millisecond), calm, stormy, float64(stormy)/float64(calm), untracked)
	require.EqualValues(t, count, m.abandoned.Load())

	back := func() int { return s.count(t, "biz_type = 'STORM' AND status IN (4, 5) AND life > 0") }
	for n := back(); n < count; {
		before := n
		testkit.Within(t, 5*time.Minute, func() bool { n = back(); return n > before }, "%d of %d came back", before, count)
	}
	t.Logf("all replayable %s after the storm began (window 5 s)", time.Since(begun).Round(100*time.Millisecond))
	require.Zero(t, s.count(t, "biz_type = 'STORM' AND status = 6"))
	s.closure(t)
}

// pin gives the starter and this process one core, and everything else the other.
func (s *stack) pin(t *testing.T) {
	t.Helper()
	servers, err := exec.Command("pidof", "mariadbd", "redis-server").Output()
	require.NoError(t, err)
	cores := map[string]int{fmt.Sprint(os.Getpid()): 0, fmt.Sprint(s.starter.Pid()): 0, fmt.Sprint(s.worker.Pid()): 1, fmt.Sprint(s.temporal.Pid()): 1}
	for _, pid := range strings.Fields(string(servers)) {
		cores[pid] = 1
	}
	for pid, core := range cores {
		out, err := exec.Command("taskset", "-acp", fmt.Sprint(core), pid).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
