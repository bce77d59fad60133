package issuer_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/issuer"
	"github.com/lacuna-seq/lacuna/sequence"
)

func keyed(name string) issuer.Request {
	return issuer.Request{BizType: "ORDER", BizKey: "o-1", Count: 1, IdempotencyKey: name}
}

func TestIdempotentNext(t *testing.T) {
	t.Run("answers a key the same ticket, by another process and after a restart too", func(t *testing.T) {
		b := setup(t)
		first, err := b.Next(t.Context(), keyed("k-1"))
		require.NoError(t, err)
		n := b.row(t, first[0].SeqNo)
		require.Equal(t, sequence.Allocated, n.State, "it is recorded before it is answered")
		require.Equal(t, "o-1", n.BizKey)
		testkit.Eventually(t, func() bool { _, ok := b.runs.started(first[0].Ticket); return ok }, "no lifecycle was started")
		other := b.start(t)
		require.NoError(t, b.Stop(t.Context()))
		for _, i := range []*issuer.Issuer{other, b.start(t)} {
			again, err := i.Next(t.Context(), keyed("k-1"))
			require.NoError(t, err)
			require.Equal(t, first[0].Ticket, again[0].Ticket)
			require.WithinDuration(t, first[0].ConfirmBy, again[0].ConfirmBy, 10*time.Second)
		}
	})
	t.Run("answers it after a confirm too", func(t *testing.T) {
		b := setup(t)
		first, err := b.Next(t.Context(), keyed("k-1"))
		require.NoError(t, err)
		require.NoError(t, b.settle(t, sequence.Confirm, first[0].Ticket).Err)
		again, err := b.Next(t.Context(), keyed("k-1"))
		require.NoError(t, err)
		require.Equal(t, first[0].Ticket, again[0].Ticket)
	})
	t.Run("refuses other content under the key, and takes nothing", func(t *testing.T) {
		b := setup(t)
		_, err := b.Next(t.Context(), keyed("k-1"))
		require.NoError(t, err)
		issued := b.count(t, "life > 0")
		for _, change := range []func(*issuer.Request){
			func(r *issuer.Request) { r.BizKey = "o-2" }, func(r *issuer.Request) { r.Count = 2 }, func(r *issuer.Request) { r.AllowPartial = true },
		} {
			r := keyed("k-1")
			change(&r)
			_, err := b.Next(t.Context(), r)
			require.ErrorIs(t, err, sequence.ErrKeyReused)
		}
		require.Equal(t, issued, b.count(t, "life > 0"))
	})
	t.Run("refuses a key whose number was given up, with its state", func(t *testing.T) {
		b := setup(t)
		first, err := b.Next(t.Context(), keyed("k-1"))
		require.NoError(t, err)
		b.free(t, first[0].Ticket)
		_, err = b.Next(t.Context(), keyed("k-1"))
		var spent *sequence.KeySpentError
		require.ErrorAs(t, err, &spent)
		require.Equal(t, first[0].Ticket, spent.Ticket.String())
		require.Equal(t, sequence.Replayable, spent.State)
	})
	t.Run("gives one ticket to a pair that calls at once", func(t *testing.T) {
		b := setup(t)
		other := b.start(t)
		for _, name := range []string{"k-1", "k-2", "k-3", "k-4", "k-5"} {
			var mu sync.Mutex
			tickets := map[string]int{}
			var all sync.WaitGroup
			for caller := range 8 {
				i := []*issuer.Issuer{b.Issuer, other}[caller%2]
				all.Go(func() {
					issued, err := i.Next(t.Context(), keyed(name))
					require.NoError(t, err)
					mu.Lock()
					defer mu.Unlock()
					tickets[issued[0].Ticket]++
				})
			}
			all.Wait()
			require.Len(t, tickets, 1)
		}
		require.Equal(t, 5, b.count(t, "status = 1"), "the numbers of the losers are given up")
	})
	t.Run("is unavailable while the ledger is away, and answers the same when it is back", func(t *testing.T) {
		b := setup(t)
		b.next(t, 1) // there are numbers in memory
		b.ledgerVia.Refuse(true)
		b.ledgerVia.Cut()
		_, err := b.Next(t.Context(), keyed("k-1"))
		require.ErrorIs(t, err, sequence.ErrUnavailable)
		b.ledgerVia.Refuse(false)
		var first []issuer.Issued
		testkit.Eventually(t, func() bool { first, err = b.Next(t.Context(), keyed("k-1")); return err == nil }, "%v", err)
		again, err := b.Next(t.Context(), keyed("k-1"))
		require.NoError(t, err)
		require.Equal(t, first[0].Ticket, again[0].Ticket)
	})
	t.Run("does not wait for the pool", func(t *testing.T) {
		b := setup(t)
		b.poolVia.Refuse(true)
		b.poolVia.Cut()
		_, err := b.Next(t.Context(), keyed("k-1"))
		require.NoError(t, err)
	})
	t.Run("refuses a key that is none", func(t *testing.T) {
		b := setup(t)
		for _, name := range []string{string(make([]byte, 129)), "a\nb", "é"} {
			_, err := b.Next(t.Context(), keyed(name))
			require.ErrorIs(t, err, sequence.ErrInvalid)
		}
	})
}

// A COMMIT whose answer is lost has happened or not: the call that is repeated under its key finds one
// number, and the other is given up.
func TestAKeyedNextWhoseAnswerIsLost(t *testing.T) {
	b := setup(t)
	b.next(t, 1)
	for _, name := range []string{"k-1", "k-2", "k-3"} {
		b.ledgerVia.LoseRepliesTo("COMMIT")
		_, err := b.Next(t.Context(), keyed(name))
		b.ledgerVia.LoseRepliesTo("")
		if err != nil {
			require.ErrorIs(t, err, sequence.ErrUnavailable)
		}
		var issued []issuer.Issued
		testkit.Eventually(t, func() bool { issued, err = b.Next(t.Context(), keyed(name)); return err == nil }, "it is never answered")
		require.Equal(t, sequence.Allocated, b.row(t, issued[0].SeqNo).State)
	}
	require.NoError(t, b.Stop(t.Context()))
	require.Zero(t, b.count(t, "status IN (0, 5)"))
	require.Equal(t, 4, b.count(t, "status = 1"), "what nobody was told of is given up")
}

func TestDurableIssue(t *testing.T) {
	durable := func(t *testing.T, b *bundle) {
		_, err := b.ledger.ChangeBizType(t.Context(), "ORDER", 1, func(o *sequence.BizType) error { o.DurableIssue = true; return nil })
		require.NoError(t, err)
	}
	t.Run("answers when the hand-out is written down", func(t *testing.T) {
		b := setup(t)
		durable(t, b)
		for range 20 {
			issued := b.next(t, 3)
			for _, n := range issued {
				require.Equal(t, sequence.Allocated, b.row(t, n.SeqNo).State)
			}
		}
	})
	t.Run("is unavailable while the ledger is away, and what was taken is given up", func(t *testing.T) {
		b := setup(t)
		durable(t, b)
		b.next(t, 1)
		b.ledgerVia.Refuse(true)
		b.ledgerVia.Cut()
		_, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
		require.ErrorIs(t, err, sequence.ErrUnavailable)
		b.ledgerVia.Refuse(false)
		testkit.Eventually(t, func() bool { return b.count(t, "status = 3") == 1 }, "the number that nobody was told of is not given up")
		require.Equal(t, 1, b.count(t, "status = 1"))
	})
	t.Run("gives up the number of a caller who left", func(t *testing.T) {
		b := setup(t)
		durable(t, b)
		b.next(t, 1)
		b.ledgerVia.Refuse(true)
		b.ledgerVia.Cut()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := b.Next(ctx, issuer.Request{BizType: "ORDER", Count: 1})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		b.ledgerVia.Refuse(false)
		testkit.Eventually(t, func() bool { return b.count(t, "status = 3") == 1 }, "it is not given up")
	})
	t.Run("is followed by a running process", func(t *testing.T) {
		b := setup(t)
		b.next(t, 1)
		durable(t, b)
		testkit.Eventually(t, func() bool {
			for range 10 {
				if b.row(t, b.next(t, 1)[0].SeqNo).Life != 1 {
					return false
				}
			}
			return true
		}, "the setting is not followed")
	})
}

func TestPartialNext(t *testing.T) {
	b := setup(t)
	small := sequence.NewBizType("SMALL", must(sequence.ParseFormat("S{seq:1}")))
	require.NoError(t, b.ledger.CreateBizType(t.Context(), small))
	_, err := b.Next(t.Context(), issuer.Request{BizType: "SMALL", Count: 10})
	require.ErrorIs(t, err, sequence.ErrFull, "a short list is an error")
	issued, err := b.Next(t.Context(), issuer.Request{BizType: "SMALL", Count: 10, AllowPartial: true})
	require.NoError(t, err)
	require.Len(t, issued, 9)
	_, err = b.Next(t.Context(), issuer.Request{BizType: "SMALL", Count: 10, AllowPartial: true})
	require.ErrorIs(t, err, sequence.ErrFull, "none at all is one too")
	require.NoError(t, b.Stop(t.Context()))
	require.Equal(t, 9, b.count(t, "biz_type = 'SMALL' AND status = 1"))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
