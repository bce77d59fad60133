package e2e

import (
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// C64: when nobody sees to what is overdue, what is left of the system says so, and for how long already. Two
// workers that come back at once bring each number home once.
func TestAReclaimerThatStopsQuietly(t *testing.T) {
	s := newStack(t)
	var seqNos []string
	for range 10 {
		_, seqNo := s.next(t, "DEMO")
		seqNos = append(seqNos, seqNo)
	}
	s.worker.Kill()
	gauge := func(series string) float64 {
		m := regexp.MustCompile(`(?m)^` + series + ` (\S+)`).FindStringSubmatch(s.scrape(t, s.starter))
		if m == nil {
			return 0
		}
		age, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		return age
	}
	overdue := func() float64 { return gauge(`lacuna_oldest_overdue_seconds\{[^}]*state="ALLOCATED"[^}]*\}`) }
	patrol := func() float64 { return gauge("lacuna_patrol_age_seconds") }
	first := 0.0
	testkit.Eventually(t, func() bool { first = overdue(); return first > 0 }, "nobody notices")
	testkit.Eventually(t, func() bool { return overdue() > first+1 }, "it does not rise")
	alone := 0.0
	testkit.Eventually(t, func() bool { alone = patrol(); return alone > 6 }, "the patrol comes although there is no worker")

	other := s.program(t, "worker")
	s.restart(t, s.worker)
	s.ready(t, other)
	for _, seqNo := range seqNos {
		n := s.awaitState(t, "DEMO", seqNo, sequence.Replayable)
		require.Equal(t, int32(1), n.Life)
	}
	testkit.Eventually(t, func() bool { return overdue() == 0 && patrol() < alone }, "they do not fall")
	pooled := map[string]int{}
	testkit.Eventually(t, func() bool {
		entries, err := s.pool.Pop(t.Context(), "DEMO", "", 100)
		require.NoError(t, err)
		for _, e := range entries {
			pooled[e.SeqNo]++
		}
		for _, seqNo := range seqNos {
			require.LessOrEqual(t, pooled[seqNo], 1, "it is in the pool twice")
			if pooled[seqNo] == 0 {
				return false
			}
		}
		return true
	}, "not all are in the pool")
	s.closure(t)
}

// scrape reads a program's metrics.
func (s *stack) scrape(t *testing.T, p *process) string {
	t.Helper()
	response, err := http.Get(p.ops + "/metrics") //nolint:noctx // a test's own server
	require.NoError(t, err)
	defer response.Body.Close() //nolint:errcheck // it was read
	return readAll(t, response.Body)
}
