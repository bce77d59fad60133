package issuer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// follow changes how ORDER is tracked and waits until the issuer knows.
func (b *bundle) follow(t *testing.T, change func(*sequence.BizType)) {
	t.Helper()
	rules, err := b.ledger.BizType(t.Context(), "ORDER")
	require.NoError(t, err)
	rules, err = b.ledger.ChangeBizType(t.Context(), "ORDER", rules.Revision, func(b *sequence.BizType) error {
		change(b)
		return nil
	})
	require.NoError(t, err)
	testkit.Eventually(t, func() bool { return b.Revision("ORDER") == rules.Revision }, "the issuer does not follow")
}

func TestTrackNone(t *testing.T) {
	b := setup(t)
	b.follow(t, func(r *sequence.BizType) { r.Track, r.DirectSignals = sequence.TrackNone, false })
	numbers := b.next(t, 3)
	for _, n := range numbers {
		b.recorded(t, n.Ticket)
	}
	require.Zero(t, b.count(t, "tracked"))
	require.NoError(t, b.settle(t, sequence.Confirm, numbers[0].Ticket).Err)
	require.NoError(t, b.settle(t, sequence.Abandon, numbers[1].Ticket).Err)
	require.Zero(t, b.count(t, "tracked"))

	b.ledgerVia.Refuse(true)
	b.ledgerVia.Cut()
	require.ErrorIs(t, b.settle(t, sequence.Confirm, numbers[2].Ticket).Err, sequence.ErrUnavailable, "no run would hold it")
	b.ledgerVia.Refuse(false)
	require.NoError(t, b.Stop(t.Context()))
	require.Empty(t, b.runs.starts)
	require.Empty(t, b.runs.wakes)
}

func TestTrackUnsettled(t *testing.T) {
	b := setup(t)
	b.follow(t, func(r *sequence.BizType) { r.Track, r.TrackAfter = sequence.TrackUnsettled, 500*time.Millisecond })
	confirmed, abandoned, silent := b.next(t, 1)[0].Ticket, b.next(t, 1)[0].Ticket, b.next(t, 1)[0].Ticket
	require.NoError(t, b.settle(t, sequence.Confirm, confirmed).Err)
	require.NoError(t, b.settle(t, sequence.Abandon, abandoned).Err)
	testkit.Eventually(t, func() bool { return b.runs.woken(abandoned) == sequence.Abandon }, "what is abandoned has a run")
	testkit.Eventually(t, func() bool { _, ok := b.runs.started(silent); return ok }, "what is not settled soon has one")
	require.Equal(t, 2, b.count(t, "tracked"))
	require.NoError(t, b.Stop(t.Context()))
	_, started := b.runs.started(confirmed)
	require.False(t, started)
	require.Zero(t, b.runs.woken(confirmed))
}

// C12: what is not started because the server refuses a rush is not lost, and not retried for hours: it is
// recorded so that the patrol sees to it, and started by itself once the rush is over.
func TestAStorm(t *testing.T) {
	b := setup(t)
	b.StormAfter(300 * time.Millisecond)
	sleeping := b.next(t, 1)[0].Ticket
	testkit.Eventually(t, func() bool { _, ok := b.runs.started(sleeping); return ok }, "it is not started")
	b.runs.setAway(true)
	b.next(t, 1) // the start that nobody takes
	testkit.Eventually(t, func() bool {
		b.recorded(t, b.next(t, 1)[0].Ticket)
		return b.count(t, "NOT tracked AND status = 1") > 0
	}, "the storm does not begin")

	require.NoError(t, b.settle(t, sequence.Abandon, sleeping).Err)
	require.Equal(t, 1, b.count(t, "status = 3 AND NOT tracked"), "its run is left behind")
	held := b.next(t, 20)
	for _, n := range held {
		b.recorded(t, n.Ticket)
		_, started := b.runs.started(n.Ticket)
		require.False(t, started)
	}
	require.NoError(t, b.settle(t, sequence.Confirm, held[0].Ticket).Err)

	b.runs.setAway(false)
	testkit.Eventually(t, func() bool { return b.count(t, "status = 1 AND NOT tracked") == 0 }, "they are not taken up again")
	for _, n := range held[1:] {
		testkit.Eventually(t, func() bool { _, ok := b.runs.started(n.Ticket); return ok }, "%s has no run", n.Ticket)
	}
	_, started := b.runs.started(held[0].Ticket)
	require.False(t, started, "it was settled in the meantime")
	require.Zero(t, b.runs.woken(sleeping))
	after := b.next(t, 1)[0].Ticket
	b.recorded(t, after)
	testkit.Eventually(t, func() bool { _, ok := b.runs.started(after); return ok }, "%s has no run", after)
}
