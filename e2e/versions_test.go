package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// A worker of before and one of now lose nothing between them while one replaces the other. The old one is
// a directory with its program: `make soak-versions OLD=<commit>` builds it.
func TestAnOldAndANewWorkerSideBySide(t *testing.T) {
	old := os.Getenv("LACUNA_OLD_PROGRAMS")
	if old == "" {
		t.Skip("LACUNA_OLD_PROGRAMS names no older version to run beside this one")
	}
	redis := testkit.OwnRedis(t)
	s := newStackOn(t, redis.URL(0))
	s.put(t, `{"name":"MIXED","format":"M-{seq:6}","confirmTimeout":"60s","safetyWindow":"2s"}`)
	present := s.dir
	s.dir, _ = filepath.Abs(old)
	worker := s.program(t, "worker")
	s.ready(t, worker)
	s.dir = present

	ends := map[string][]sequence.State{}
	take := func(outage bool) {
		for i, ticket := range s.abandon(t, "MIXED", 30) {
			seqNo := mustTicket(t, ticket).SeqNo
			ends[seqNo] = []sequence.State{sequence.Replayable}
			switch i % 5 {
			case 0:
				s.settle(t, "Confirm", ticket) // rescued
				ends[seqNo] = []sequence.State{sequence.Confirmed}
			case 1: // what it comes to depends on which worker does it
				_ = s.client.CancelWorkflow(t.Context(), ticket, "") // it may have no run yet
				ends[seqNo] = []sequence.State{sequence.Dead, sequence.Replayable}
			}
		}
		if outage {
			redis.Kill()
			require.NoError(t, redis.Restart(t.Context()))
		}
	}
	take(false)
	take(true)
	s.worker.Kill() // the new one goes, as in a deploy that is taken back
	take(false)
	s.restart(t, s.worker)
	take(true)
	worker.Kill()
	take(false)
	for seqNo, want := range ends {
		testkit.Within(t, 2*testkit.Patience, func() bool {
			return slices.Contains(want, s.row(t, "MIXED", seqNo).State)
		}, "%s did not end as %s", seqNo, want)
	}
	s.closure(t)
}
