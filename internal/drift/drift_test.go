package drift_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/drift"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	me  = "issuer-1"
	all = 100_000 // more than any test has
)

// stores are a ledger and a pool with the biz types ORDER: A-{seq:6}, and INV, whose numbers are issued again in
// their own month only.
type stores struct {
	*ledger.Ledger
	pool *pool.Pool
}

func setup(t *testing.T) stores {
	t.Helper()
	return setupOn(t, testkit.Redis(t))
}

func setupOn(t *testing.T, redisURL string) stores {
	t.Helper()
	l, err := ledger.Open(testkit.MariaDB(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	_, err = migrations.Up(t.Context(), l.DB())
	require.NoError(t, err)
	p, err := pool.Open(redisURL)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	for name, template := range map[string]string{"ORDER": "A-{seq:6}", "INV": "I{yyyy}{MM}-{seq:6}"} {
		format, err := sequence.ParseFormat(template)
		require.NoError(t, err)
		b := sequence.NewBizType(name, format)
		if b.SafetyWindow, b.MaxReplays = time.Second, 1000; name == "INV" {
			b.Reuse = sequence.ReuseSamePeriod
		}
		require.NoError(t, l.CreateBizType(t.Context(), b))
	}
	require.NoError(t, l.RegisterIssuer(t.Context(), me, "host-1", time.Hour))
	return stores{l, p}
}

// free makes count numbers that are free, in ledger and pool, and gives how the pool has them.
func (s stores) free(t *testing.T, bizType string, count int) []sequence.PoolEntry {
	t.Helper()
	block, err := s.Allocate(t.Context(), bizType, me, fmt.Sprintf("batch-%s-%d", bizType, count), count)
	require.NoError(t, err)
	decisions := s.apply(t, sequence.HandBack, sequence.OutcomeHandedBack, block)
	entries := make([]sequence.PoolEntry, count)
	for i, d := range decisions {
		entries[i] = d.Pool
	}
	require.NoError(t, s.pool.Push(t.Context(), entries))
	return entries
}

func (s stores) apply(t *testing.T, kind sequence.Kind, want sequence.Outcome, numbers []sequence.Number) []sequence.Decision {
	t.Helper()
	commands := make([]sequence.Command, len(numbers))
	for i, n := range numbers {
		commands[i] = sequence.Command{Kind: kind, Owner: me, BatchID: n.BatchID, Ticket: n.Ticket()}
	}
	decisions, err := s.Apply(t.Context(), commands)
	require.NoError(t, err)
	for _, d := range decisions {
		require.Equal(t, want, d.Outcome, d.Number.SeqNo)
	}
	return decisions
}

func (s stores) check(t *testing.T, bizType string) drift.Report {
	t.Helper()
	report, err := drift.Check(t.Context(), s.Ledger, s.pool, bizType)
	require.NoError(t, err)
	return report
}

func (s stores) rebuild(t *testing.T, limit int) drift.Report {
	t.Helper()
	report, err := drift.Rebuild(t.Context(), s.Ledger, s.pool, "", limit)
	require.NoError(t, err)
	return report
}

// claimAll pops everything of ORDER and claims it; every hint must be a free number.
func (s stores) claimAll(t *testing.T) (seqNos []string) {
	t.Helper()
	for {
		popped, err := s.pool.Pop(t.Context(), "ORDER", "", 500)
		require.NoError(t, err)
		if len(popped) == 0 {
			return seqNos
		}
		numbers := make([]sequence.Number, len(popped))
		for i, e := range popped {
			numbers[i] = sequence.Number{BizType: "ORDER", SeqNo: e.SeqNo, BatchID: "claim-1"}
			seqNos = append(seqNos, e.SeqNo)
		}
		s.apply(t, sequence.Claim, sequence.OutcomeClaimed, numbers)
	}
}

func (s stores) flush(t *testing.T, entries []sequence.PoolEntry) {
	t.Helper()
	require.NoError(t, s.pool.Remove(t.Context(), entries))
}

func TestDriftOfEveryKind(t *testing.T) {
	s := setup(t)
	orders, invoices := s.free(t, "ORDER", 10), s.free(t, "INV", 3)
	held, err := s.Allocate(t.Context(), "ORDER", me, "held", 1)
	require.NoError(t, err)
	require.Zero(t, s.check(t, "").Total())

	s.flush(t, orders[2:4])
	moved, displaced := orders[5], invoices[1]
	moved.Score, displaced.Period = 77, ""
	require.NoError(t, s.pool.Push(t.Context(), []sequence.PoolEntry{
		{BizType: "ORDER", SeqNo: held[0].SeqNo, Score: 1}, {BizType: "ORDER", SeqNo: "A-999999", Score: 2}, moved, displaced,
	}))

	for range 2 { // looking changes nothing
		r := s.check(t, "")
		require.Equal(t, "noeviction", r.EvictionPolicy)
		require.Equal(t, "INV", r.Pools[0].BizType)
		require.Equal(t, drift.Drift{BizType: "INV", InLedger: 3, InRedis: 4, Kinds: [4]drift.Differences{
			drift.WrongPeriod: {Count: 1, SeqNos: []string{displaced.SeqNo}},
		}}, r.Pools[0])
		order := r.Pools[1]
		require.ElementsMatch(t, []string{held[0].SeqNo, "A-999999"}, order.Kinds[drift.Stale].SeqNos)
		order.Kinds[drift.Stale].SeqNos = nil
		require.Equal(t, drift.Drift{BizType: "ORDER", InLedger: 10, InRedis: 10, Kinds: [4]drift.Differences{
			drift.Missing: {Count: 2, SeqNos: []string{orders[2].SeqNo, orders[3].SeqNo}}, drift.Stale: {Count: 2},
			drift.WrongScore: {Count: 1, SeqNos: []string{moved.SeqNo}},
		}}, order)
	}
	require.Len(t, s.check(t, "INV").Pools, 1)
	_, err = drift.Check(t.Context(), s.Ledger, s.pool, "NOBODY")
	require.ErrorIs(t, err, sequence.ErrNotFound)

	r := s.rebuild(t, all)
	require.Equal(t, int64(6), r.Total())
	require.Zero(t, r.Left)
	require.Zero(t, s.check(t, "").Total())
	want := make([]string, len(orders))
	for i, e := range orders {
		want[i] = e.SeqNo
	}
	require.Equal(t, want, s.claimAll(t), "each once, the lowest first")
}

func TestAChangedOrderIsCarriedIntoThePool(t *testing.T) {
	s := setup(t)
	s.free(t, "ORDER", 3)
	_, err := s.ChangeBizType(t.Context(), "ORDER", 1, func(b *sequence.BizType) error { b.PoolOrder = sequence.PoolOrderOldest; return nil })
	require.NoError(t, err)
	require.Equal(t, int64(3), s.check(t, "ORDER").Pools[0].Kinds[drift.WrongScore].Count)
	require.Equal(t, int64(3), s.rebuild(t, all).Total())
	require.Zero(t, s.check(t, "ORDER").Total())
}

func TestARebuildHasItsLimitAndSaysWhatIsLeft(t *testing.T) {
	s := setup(t)
	s.flush(t, s.free(t, "ORDER", 1200))
	found := s.check(t, "").Pools[1].Kinds[drift.Missing]
	require.Equal(t, int64(1200), found.Count)
	require.Len(t, found.SeqNos, drift.MaxSamples)
	for _, want := range []struct{ done, left int64 }{{700, 500}, {500, 0}, {0, 0}} {
		r := s.rebuild(t, 700)
		require.Equal(t, want.done, r.Total())
		require.Equal(t, want.left, r.Left)
	}
	require.Len(t, s.claimAll(t), 1200)
}

// troubled is a pool that something happens to.
type troubled struct {
	*pool.Pool
	push, remove func() error
}

func (p troubled) Push(ctx context.Context, entries []sequence.PoolEntry) error {
	if p.push != nil {
		if err := p.push(); err != nil {
			return err
		}
	}
	return p.Pool.Push(ctx, entries)
}

func (p troubled) Remove(ctx context.Context, entries []sequence.PoolEntry) error {
	if err := p.remove(); err != nil {
		return err
	}
	return p.Pool.Remove(ctx, entries)
}

func TestARebuildThatFailsSaysWhatItHasDone(t *testing.T) {
	s := setup(t)
	s.flush(t, s.free(t, "ORDER", 1200))
	pushes := 0
	p := troubled{Pool: s.pool, push: func() error {
		if pushes++; pushes > 2 {
			return &sequence.UnavailableError{What: "the pool is away", Cause: errors.New("connection refused")}
		}
		return nil
	}}
	r, err := drift.Rebuild(t.Context(), s.Ledger, p, "", all)
	require.ErrorIs(t, err, sequence.ErrUnavailable)
	require.Equal(t, int64(1000), r.Total())
	require.Equal(t, int64(200), s.rebuild(t, all).Total())
}

func TestWhatBecomesFreeWhileItIsRemovedStaysInThePool(t *testing.T) {
	s := setup(t)
	held, err := s.Allocate(t.Context(), "ORDER", me, "held", 1)
	require.NoError(t, err)
	stale := []sequence.PoolEntry{{BizType: "ORDER", SeqNo: held[0].SeqNo, Score: 1}}
	require.NoError(t, s.pool.Push(t.Context(), stale))
	p := troubled{Pool: s.pool, remove: func() error {
		s.apply(t, sequence.HandBack, sequence.OutcomeHandedBack, held)
		return s.pool.Push(t.Context(), stale)
	}}
	_, err = drift.Rebuild(t.Context(), s.Ledger, p, "", all)
	require.NoError(t, err)
	require.Zero(t, s.check(t, "").Total())
	require.Equal(t, []string{held[0].SeqNo}, s.claimAll(t))
}

func TestAServerThatIsAwayIsNamedBeforeAnythingIsDone(t *testing.T) {
	s := setup(t)
	gone, err := pool.Open("redis://127.0.0.1:1/0")
	require.NoError(t, err)
	defer gone.Close() //nolint:errcheck // nothing was opened
	_, err = drift.Check(t.Context(), s.Ledger, gone, "")
	require.ErrorIs(t, err, sequence.ErrUnavailable)
	require.ErrorContains(t, err, "Redis")
	lost, err := ledger.Open("u:p@tcp(127.0.0.1:1)/x")
	require.NoError(t, err)
	defer lost.Close() //nolint:errcheck // nothing was opened
	_, err = drift.Rebuild(t.Context(), lost, s.pool, "", all)
	require.ErrorIs(t, err, sequence.ErrUnavailable)
	require.ErrorContains(t, err, "the ledger is away")
}

func TestRebuildsAtOnceBringEachNumberBackOnce(t *testing.T) {
	s := setup(t)
	s.flush(t, s.free(t, "ORDER", 1200))
	var rebuilds sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		rebuilds.Go(func() { _, errs[i] = drift.Rebuild(context.Background(), s.Ledger, s.pool, "ORDER", all) })
	}
	rebuilds.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Len(t, s.claimAll(t), 1200)
}
