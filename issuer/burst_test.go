package issuer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/issuer"
	"github.com/lacuna-seq/lacuna/sequence"
)

// C57: a burst that empties memory waits, and does not fail while the ledger is up; callers learn
// quickly when it is not.
func TestABurstThatEmptiesMemory(t *testing.T) {
	b := setup(t)
	b.ledgerVia.DelayRepliesTo("FROM t_seq_cursor", 200*time.Millisecond)
	var mu sync.Mutex
	seen := map[string]bool{}
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			for range 50 {
				issued, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				seen[issued[0].Ticket] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Equal(t, 10_000, len(seen)) //nolint:testifylint // a failure would print them all
	b.ledgerVia.DelayRepliesTo("", 0)
	batches := map[string]bool{}
	rows, err := b.ledger.DB().QueryContext(t.Context(), "SELECT DISTINCT batch_id FROM t_seq_issue_log")
	require.NoError(t, err)
	defer rows.Close() //nolint:errcheck // it was read
	for rows.Next() {
		var batchID string
		require.NoError(t, rows.Scan(&batchID))
		batches[batchID] = true
	}
	require.NoError(t, rows.Err())
	require.Less(t, len(batches), 100, "one refill serves many callers")

	b.ledgerVia.Refuse(true)
	b.ledgerVia.Cut()
	for err = nil; err == nil; {
		_, err = b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 100})
	}
	require.ErrorIs(t, err, sequence.ErrUnavailable)
	b.ledgerVia.Refuse(false)
	testkit.Eventually(t, func() bool {
		_, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
		return err == nil
	}, "it does not recover by itself")
}

// C60: somebody who holds the lock of a counter stops its own biz type only, and that only once memory
// is empty.
func TestASlowHolderOfACounter(t *testing.T) {
	b := setup(t)
	other := sequence.NewBizType("PU", must(sequence.ParseFormat("P-{seq:6}")))
	require.NoError(t, b.ledger.CreateBizType(t.Context(), other))
	b.recorded(t, b.next(t, 1)[0].Ticket)
	tx, err := b.ledger.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // the test's end
	var value int64
	require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT value FROM t_seq_cursor WHERE biz_type = 'ORDER' FOR UPDATE").Scan(&value))
	left := b.count(t, "status = 0")
	require.Positive(t, left)
	b.next(t, left) // from memory
	for range 3 {
		_, err = b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
		require.True(t, errors.Is(err, sequence.ErrUnavailable) || errors.Is(err, sequence.ErrBusy), "%v", err)
		_, err = b.Next(t.Context(), issuer.Request{BizType: "PU", Count: 10})
		require.NoError(t, err)
	}
	require.NoError(t, tx.Rollback())
	testkit.Eventually(t, func() bool {
		_, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
		return err == nil
	}, "it does not go on")
}

// C18: callers who leave in the middle leave nothing half done: every number is held by a life, or free.
func TestCallersWhoLeave(t *testing.T) {
	b := setup(t)
	used := b.next(t, 30)
	var tickets []string
	for _, n := range used {
		tickets = append(tickets, n.Ticket)
	}
	b.free(t, tickets...) // there is something in the pool
	b.ledgerVia.Delay(30 * time.Millisecond)
	b.poolVia.Delay(30 * time.Millisecond)
	var all sync.WaitGroup
	for caller := range 25 {
		all.Go(func() {
			for call := range 20 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(call*5)*time.Millisecond)
				r := issuer.Request{BizType: "ORDER", Count: 1}
				if caller%2 == 0 {
					r.IdempotencyKey = string(rune('a'+caller)) + string(rune('a'+call))
				}
				_, _ = b.Next(ctx, r)
				cancel()
			}
		})
	}
	all.Wait()
	b.ledgerVia.Delay(0)
	b.poolVia.Delay(0)
	require.NoError(t, b.Stop(t.Context()))
	require.Zero(t, b.count(t, "status IN (0, 5)"), "nothing stays held")
	var cursor int
	require.NoError(t, b.ledger.DB().QueryRowContext(t.Context(), "SELECT value FROM t_seq_cursor").Scan(&cursor))
	require.Equal(t, cursor, b.count(t, "status IN (1, 3, 4)"), "every value is allocated, abandoned or free")
	var keys int
	require.NoError(t, b.ledger.DB().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t_seq_idempotency").Scan(&keys))
	t.Logf("%d values, %d allocated, %d abandoned, %d free, %d keys", cursor, b.count(t, "status = 1"), b.count(t, "status = 3"), b.count(t, "status = 4"), keys)
}

// C16: a number that is in the pool twice, e.g. under two keys, is issued once.
func TestANumberThatIsInThePoolTwice(t *testing.T) {
	b := setup(t)
	first := b.next(t, 1)[0]
	b.free(t, first.Ticket)
	other := b.start(t)
	entry := sequence.PoolEntry{BizType: "ORDER", SeqNo: first.SeqNo, Score: 1}
	var mu sync.Mutex
	lives := map[string]int{}
	var all sync.WaitGroup
	for _, i := range []*issuer.Issuer{b.Issuer, other} {
		all.Go(func() {
			for range 200 {
				require.NoError(t, b.pool.Push(t.Context(), []sequence.PoolEntry{entry, entry}))
				issued, err := i.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
				require.NoError(t, err)
				mu.Lock()
				lives[issued[0].Ticket]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for ticket, times := range lives {
		require.Equal(t, 1, times, ticket)
	}
	require.Equal(t, 1, lives["ORDER~A-000001~2"])
	require.Zero(t, lives["ORDER~A-000001~3"])
}

// An allocation that is committed long after its call was given up is nobody's: it is handed back.
func TestABatchThatNobodyKnows(t *testing.T) {
	b := setup(t, issuer.MinLease)
	b.next(t, 1)
	_, err := b.ledger.Allocate(t.Context(), "ORDER", b.ID(), "stray", 7)
	require.NoError(t, err)
	testkit.Eventually(t, func() bool { return b.count(t, "batch_id = 'stray' AND status = 4") == 7 }, "it stays held")
	require.Positive(t, b.count(t, "status = 0"), "what is known stays")
}

// A biz type that nobody asks for holds nothing; its numbers are the next to go out.
func TestABizTypeThatNobodyAsksFor(t *testing.T) {
	b := setup(t)
	b.recorded(t, b.next(t, 1)[0].Ticket)
	require.Equal(t, 9, b.count(t, "status = 0"))
	b.Idle("ORDER")
	testkit.Eventually(t, func() bool { return b.count(t, "status = 4 AND life = 0") == 9 }, "it holds numbers for nobody")
	var cursor int
	require.NoError(t, b.ledger.DB().QueryRowContext(t.Context(), "SELECT value FROM t_seq_cursor").Scan(&cursor))
	require.Equal(t, 10, cursor, "the cursor does not run on while nobody asks")
	for i := range 9 {
		require.Equal(t, i+2, int(b.row(t, b.next(t, 1)[0].SeqNo).Value), "they go out before fresh ones")
	}
}

// C38: an empty pool is no error, and a Redis that has become a replica is one: issuing goes on with
// fresh numbers, and the pool is used again when it is back.
func TestAPoolThatIsEmptyOrReadOnly(t *testing.T) {
	b := setupOn(t, testkit.OwnRedis(t).URL(0))
	for range 100 {
		b.next(t, 1)
	}
	first := b.next(t, 1)[0]
	b.recorded(t, first.Ticket)
	b.readOnly(t, true)
	for range 5 {
		b.next(t, 1)
	}
	require.ErrorIs(t, b.pool.Push(t.Context(), []sequence.PoolEntry{{BizType: "ORDER", SeqNo: first.SeqNo}}), sequence.ErrUnavailable)
	b.readOnly(t, false)
	b.free(t, first.Ticket)
	testkit.Eventually(t, func() bool { return b.next(t, 1)[0].Ticket == first.Ticket[:len(first.Ticket)-1]+"2" }, "the free number does not come back")
}

// C17: a sweeper that saw a free number, slept, and pushes it after it was handed out leaves a hint that
// nobody follows.
func TestASweeperThatSleepsBetweenItsLookAndItsPush(t *testing.T) {
	b := setup(t)
	first := b.next(t, 1)[0]
	b.free(t, first.Ticket)
	for life := int32(1); life <= 10; life++ {
		_, err := b.ledger.DB().ExecContext(t.Context(), "UPDATE t_seq_issue_log SET replays = 0, deadline = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR WHERE status = 4")
		require.NoError(t, err)
		seen, err := b.ledger.Overdue(t.Context(), sequence.Replayable, sequence.Number{}, 10)
		require.NoError(t, err)
		require.Len(t, seen, 1)
		var again issuer.Issued
		testkit.Eventually(t, func() bool { again = b.next(t, 1)[0]; return again.SeqNo == first.SeqNo }, "it is not issued again")
		require.Equal(t, life+1, again.Life)
		b.recorded(t, again.Ticket)

		require.NoError(t, b.pool.Push(t.Context(), []sequence.PoolEntry{{BizType: "ORDER", SeqNo: first.SeqNo, Score: 1}})) // the sweeper wakes
		decisions, err := b.ledger.Apply(t.Context(), []sequence.Command{{Kind: sequence.Repool, Ticket: seen[0].Ticket()}})
		require.NoError(t, err)
		require.Equal(t, sequence.OutcomeSuperseded, decisions[0].Outcome)
		for _, n := range b.next(t, 20) {
			require.NotEqual(t, first.SeqNo, n.SeqNo, "it is held")
		}
		b.free(t, again.Ticket)
	}
}
