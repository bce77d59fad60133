package e2e

import (
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// C49: nobody polls the queue of the lifecycles. Numbers are confirmed and abandoned all the same, the starter shows
// that nobody works, and what was accepted is carried out when a worker returns, however late.
func TestC49NobodyPolls(t *testing.T) {
	mariadb := testkit.OwnMariaDB(t)
	s := newStackOnBoth(t, mariadb.DSN("lacuna"), testkit.Redis(t))
	s.worker.Kill()
	type held struct{ ticket, seqNo string }
	take := func() (numbers []held) {
		for range 10 {
			ticket, seqNo := s.next(t, "DEMO")
			numbers = append(numbers, held{ticket, seqNo})
		}
		for _, n := range numbers {
			s.awaitRun(t, n.ticket)
		}
		return numbers
	}
	confirmed, abandoned, accepted := take(), take(), take()
	for i := range confirmed {
		require.Contains(t, []string{"OUTCOME_CONFIRMED", "OUTCOME_RESCUED"}, s.settle(t, "Confirm", confirmed[i].ticket))
		require.Contains(t, []string{"OUTCOME_ABANDONED", "OUTCOME_ALREADY_ABANDONED"}, s.settle(t, "Abandon", abandoned[i].ticket))
	}
	mariadb.Kill()
	for _, n := range accepted {
		require.Equal(t, "OUTCOME_ACCEPTED", s.settle(t, "Confirm", n.ticket))
	}
	testkit.Eventually(t, func() bool {
		_, body := s.ops(t, s.starter, "/readyz")
		return body == "lease: away\nledger: away\n"
	}, "a starter that cannot issue is ready")
	status, _ := s.ops(t, s.starter, "/healthz")
	require.Equal(t, http.StatusOK, status, "a restart would not help")
	s.starter.Kill() // now Temporal alone knows of them
	require.NoError(t, mariadb.Restart(t.Context()))
	s.restart(t, s.starter)
	for _, n := range accepted {
		require.Equal(t, sequence.Allocated, s.row(t, "DEMO", n.seqNo).State)
	}

	testkit.Eventually(t, func() bool { return s.figure(t, "lacuna_backlog_age_seconds") > confirmTimeout.Seconds() }, "the starter does not show that tasks wait")
	require.Greater(t, s.figure(t, "lacuna_patrol_age_seconds"), confirmTimeout.Seconds())
	testkit.Within(t, 3*time.Minute, func() bool { return s.figure(t, "lacuna_pollers") == 0 }, "the starter does not show that nobody polls")

	s.restart(t, s.worker)
	testkit.Eventually(t, func() bool { return s.figure(t, "lacuna_pollers") == 1 }, "the starter does not show the worker")
	for i := range confirmed {
		require.Equal(t, sequence.Confirmed, s.row(t, "DEMO", confirmed[i].seqNo).State)
		s.awaitState(t, "DEMO", accepted[i].seqNo, sequence.Confirmed)
		s.awaitState(t, "DEMO", abandoned[i].seqNo, sequence.Replayable)
	}
	s.closure(t)
}

// ops asks a program's ops server.
func (s *stack) ops(t *testing.T, p *process, path string) (status int, body string) {
	t.Helper()
	response, err := http.Get(p.ops + path) //nolint:noctx // a test's own server
	require.NoError(t, err)
	defer response.Body.Close() //nolint:errcheck // it was read
	return response.StatusCode, readAll(t, response.Body)
}

// figure is a metric of the starter that has no labels; -1 while it is not shown.
func (s *stack) figure(t *testing.T, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(s.scrape(t, s.starter))
	if found == nil {
		return -1
	}
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return value
}
