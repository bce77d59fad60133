package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Kill -9 under load, again and again: every ticket has one holder, and every value is accounted for.
func TestKillsUnderLoad(t *testing.T) {
	s := newStack(t)
	load := newLoad(s, s.starter)
	for range rounds(5, 100) {
		stop := load.run(t)
		before := load.count()
		testkit.Eventually(t, func() bool { return load.count() > before+50 }, "nothing is handed out")
		s.starter.Kill()
		stop()
		s.restart(t, s.starter)
	}
	testkit.Eventually(t, func() bool {
		return s.count(t, "owner <> '' AND owner <> '"+s.owner(t)+"'") == 0
	}, "what the killed starters held was not recovered")
	load.check(t)
	s.closure(t)
}

// Clean restarts lose nothing: no value stays held, and what was not handed out goes out next.
func TestCleanRestarts(t *testing.T) {
	s := newStack(t)
	load := newLoad(s, s.starter)
	for range rounds(5, 100) {
		stop := load.run(t)
		before := load.count()
		testkit.Eventually(t, func() bool { return load.count() > before+50 }, "nothing is handed out")
		require.NoError(t, s.starter.Stop(t.Context()))
		stop()
		require.NoError(t, s.starter.ExitError())
		require.Zero(t, s.count(t, "status IN (0, 5)"), "a clean stop holds nothing back")
		s.restart(t, s.starter)
	}
	load.check(t)
	s.closure(t)
}

// C51: a rolling deploy drops no call: under load the starter and the worker are stopped and started
// again, one after the other, and callers meet nothing but a connection that is refused.
func TestARollingDeploy(t *testing.T) {
	s := newStack(t)
	load := newLoad(s, s.starter)
	load.pace = 20 * time.Millisecond // 100 numbers a second: what the stop has to deliver to Temporal is bounded
	stop := load.run(t)
	var given []string
	for range rounds(3, 10) {
		for range 20 {
			ticket, _ := s.next(t, "DEMO")
			given = append(given, ticket)
			require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
		}
		for _, p := range []*process{s.starter, s.worker} {
			require.NoError(t, p.Stop(t.Context()))
			require.NoError(t, p.ExitError())
			s.restart(t, p)
		}
	}
	stop()
	require.Empty(t, load.faults)
	for _, ticket := range given {
		parsed, err := sequence.ParseTicket(ticket)
		require.NoError(t, err)
		testkit.Eventually(t, func() bool {
			n := s.row(t, parsed.BizType, parsed.SeqNo)
			return n.Life > parsed.Life || n.State == sequence.Replayable || n.State == sequence.Replayed
		}, "%s does not come back", ticket)
	}
	load.check(t)
	s.closure(t)
}

// C28: a window is a matter of the row. It goes on while everything is down, neither forgotten nor
// begun again.
func TestAWindowOutlivesRestarts(t *testing.T) {
	s := newStack(t)
	const window = 6 * time.Second
	s.bizType(t, "COOL", "K-{seq:6}", confirmTimeout, window)
	ticket, seqNo := s.next(t, "COOL")
	require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
	before := s.row(t, "COOL", seqNo)
	require.Equal(t, window, before.Deadline.Sub(before.AbandonedTime))
	s.starter.Kill()
	s.worker.Kill()
	s.temporal.Kill()
	require.NoError(t, s.temporal.Restart(t.Context()))
	s.restart(t, s.worker)
	s.restart(t, s.starter)
	after := s.row(t, "COOL", seqNo)
	require.Equal(t, before.Deadline, after.Deadline)
	require.Equal(t, before.AbandonedTime, after.AbandonedTime)
	freed := s.awaitState(t, "COOL", seqNo, sequence.Replayable).Deadline.Add(-sequence.PoolCheckAfter)
	require.False(t, freed.Before(before.Deadline), "it was free %s before its window was over", before.Deadline.Sub(freed))
	t.Logf("free %s after its window", freed.Sub(before.Deadline))

	// A raised window reaches a number that waits; a lowered one reaches those that are abandoned after it.
	for _, change := range []struct{ window, want time.Duration }{{9 * time.Second, 9 * time.Second}, {2 * time.Second, 9 * time.Second}} {
		ticket, seqNo := s.next(t, "COOL")
		require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
		b, err := s.ledger.BizType(t.Context(), "COOL")
		require.NoError(t, err)
		_, err = s.ledger.ChangeBizType(t.Context(), "COOL", b.Revision, func(b *sequence.BizType) error {
			b.SafetyWindow, b.MaxReplays = change.window, 10
			return nil
		})
		require.NoError(t, err)
		waiting := s.row(t, "COOL", seqNo)
		freed := s.awaitState(t, "COOL", seqNo, sequence.Replayable).Deadline.Add(-sequence.PoolCheckAfter)
		require.GreaterOrEqual(t, freed.Sub(waiting.AbandonedTime), change.want)
	}
}
