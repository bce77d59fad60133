package drift_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/drift"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// traffic claims numbers of ORDER, hands most of them out, gives those up, and brings them back, without end.
type traffic struct {
	stores
	mu     sync.Mutex
	handed map[sequence.Ticket]int // how often each life was handed out
	rounds int
}

// run is one of several issuers. A pool that is away is no failure.
func (x *traffic) run(ctx context.Context, name string) error {
	for i := 0; ctx.Err() == nil; i++ {
		err := x.round(context.WithoutCancel(ctx), fmt.Sprintf("%s-%d", name, i))
		if err != nil && !errors.Is(err, sequence.ErrUnavailable) {
			return err
		}
	}
	return nil
}

func (x *traffic) round(ctx context.Context, batch string) error {
	popped, err := x.pool.Pop(ctx, "ORDER", "", 20)
	if err != nil {
		return err
	}
	claimed, err := x.claim(ctx, batch, popped)
	if err != nil {
		return err
	}
	kept := len(claimed) / 4 // handed back
	back, err := x.act(ctx, sequence.HandBack, sequence.OutcomeHandedBack, batch, claimed[:kept])
	if err != nil {
		return err
	}
	handed, err := x.act(ctx, sequence.Record, sequence.OutcomeRecorded, batch, claimed[kept:])
	if err != nil {
		return err
	}
	x.mu.Lock()
	for _, n := range handed {
		x.handed[n.Ticket()]++
	}
	x.rounds++
	x.mu.Unlock()
	if _, err := x.act(ctx, sequence.Abandon, sequence.OutcomeAbandoned, batch, handed); err != nil {
		return err
	}
	waiting, err := x.Waiting(ctx, "ORDER", sequence.Abandoned, sequence.Number{}, 100)
	if err != nil {
		return err
	}
	free, err := x.act(ctx, sequence.Replay, sequence.OutcomeReplayable, batch, waiting)
	if err != nil {
		return err
	}
	return x.pool.Push(ctx, x.entries(append(back, free...)))
}

// claim claims what was popped. What somebody else works on, or is not due, goes back, as an issuer does it.
func (x *traffic) claim(ctx context.Context, batch string, popped []sequence.PoolEntry) (claimed []sequence.Number, err error) {
	commands := make([]sequence.Command, len(popped))
	for i, e := range popped {
		commands[i] = sequence.Command{Kind: sequence.Claim, Owner: me, BatchID: batch, Ticket: sequence.Ticket{BizType: "ORDER", SeqNo: e.SeqNo}}
	}
	decisions, err := x.Apply(ctx, commands)
	if err != nil {
		return nil, errors.Join(err, x.pool.Push(ctx, popped))
	}
	var back []sequence.PoolEntry
	for i, d := range decisions {
		switch d.Outcome {
		case sequence.OutcomeClaimed:
			claimed = append(claimed, d.Number)
		case sequence.OutcomeNotFound, sequence.OutcomeNotDue:
			back = append(back, popped[i])
		default:
		}
	}
	return claimed, x.pool.Push(ctx, back)
}

// act gives those numbers for which the command came to the outcome.
func (x *traffic) act(ctx context.Context, kind sequence.Kind, want sequence.Outcome, batch string, numbers []sequence.Number) (done []sequence.Number, err error) {
	commands := make([]sequence.Command, len(numbers))
	for i, n := range numbers {
		commands[i] = sequence.Command{Kind: kind, Owner: me, BatchID: batch, Ticket: n.Ticket()}
		if kind == sequence.Record {
			commands[i].Ticket = n.NextTicket()
		}
	}
	decisions, err := x.Apply(ctx, commands)
	for _, d := range decisions {
		if d.Outcome == want {
			done = append(done, d.Number)
		}
	}
	return done, err
}

func (x *traffic) entries(numbers []sequence.Number) []sequence.PoolEntry {
	rules := sequence.BizType{PoolOrder: sequence.PoolOrderLowest}
	entries := make([]sequence.PoolEntry, len(numbers))
	for i, n := range numbers {
		entries[i] = rules.PoolEntry(n)
	}
	return entries
}

// underWay runs the traffic while do does what it does, and fails where a life had two holders.
func underWay(t *testing.T, s stores, do func(x *traffic)) {
	t.Helper()
	x := &traffic{stores: s, handed: map[sequence.Ticket]int{}}
	ctx, stop := context.WithCancel(t.Context())
	var issuers sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		issuers.Go(func() { errs[i] = x.run(ctx, fmt.Sprintf("traffic-%d", i)) })
	}
	do(x)
	stop()
	issuers.Wait()
	require.NoError(t, errors.Join(errs...))
	require.NotEmpty(t, x.handed)
	for ticket, times := range x.handed {
		require.Equal(t, 1, times, "%s was handed out more than once", ticket)
	}
}

// after waits until the traffic has made so many further rounds.
func (x *traffic) after(t *testing.T, rounds int) {
	t.Helper()
	made := func() int { x.mu.Lock(); defer x.mu.Unlock(); return x.rounds }
	from := made()
	testkit.Eventually(t, func() bool { return made() >= from+rounds }, "the traffic stands still")
}

// settled waits until every number is free, brings the pool back and claims all.
func (s stores) settled(t *testing.T, count int) {
	t.Helper()
	x := &traffic{stores: s, handed: map[sequence.Ticket]int{}}
	free := func() (n int) {
		require.NoError(t, s.DB().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 4").Scan(&n))
		return n
	}
	testkit.Eventually(t, func() bool {
		waiting, err := s.Waiting(t.Context(), "ORDER", sequence.Abandoned, sequence.Number{}, 500)
		require.NoError(t, err)
		_, err = x.act(t.Context(), sequence.Replay, sequence.OutcomeReplayable, "last", waiting)
		require.NoError(t, err)
		return free() == count
	}, "not all numbers came back")
	s.rebuild(t, all)
	require.Zero(t, s.check(t, "").Total())
	require.Len(t, s.claimAll(t), count, "all are back, none twice")
}

func TestTrafficIsNoDrift(t *testing.T) {
	s := setup(t)
	s.free(t, "ORDER", 2000)
	underWay(t, s, func(x *traffic) {
		x.after(t, 10)
		looks, seen := 0, int64(0)
		testkit.Eventually(t, func() bool { // the traffic may have emptied the pool for a moment
			r := s.check(t, "")
			require.Zero(t, r.Total(), "%+v", r)
			looks, seen = looks+1, seen+r.Pools[1].InRedis
			return looks >= 3 && seen > 0
		}, "the pool was empty at every look")
		x.after(t, 10)
	})
}

func TestC53APoolThatIsFlushedUnderTrafficComesBack(t *testing.T) {
	redis := testkit.ForgetfulRedis(t)
	s := setupOn(t, redis.URL(0))
	const count = 2000
	s.free(t, "ORDER", count)
	underWay(t, s, func(x *traffic) {
		x.after(t, 10)
		command(t, redis, "flushall")
		r := s.check(t, "").Pools[1]
		require.NotZero(t, r.Kinds[drift.Missing].Count)
		require.Greater(t, r.InLedger, r.InRedis)
		require.NotZero(t, s.rebuild(t, all).Total())
		require.Zero(t, s.check(t, "").Pools[1].Kinds[drift.Missing].Count)
		x.after(t, 50)
	})
	s.settled(t, count)
}

func TestC53ARedisThatRestartsWithoutItsData(t *testing.T) {
	redis := testkit.ForgetfulRedis(t)
	s := setupOn(t, redis.URL(0))
	s.free(t, "ORDER", 1200)
	require.NoError(t, redis.Restart(t.Context()))
	testkit.Eventually(t, func() bool { return s.pool.Ping(t.Context()) == nil }, "the client has not come back")
	r := s.check(t, "").Pools[1]
	require.Equal(t, int64(1200), r.InLedger)
	require.Zero(t, r.InRedis)
	require.Equal(t, int64(1200), r.Kinds[drift.Missing].Count)
	require.Equal(t, int64(1200), s.rebuild(t, all).Total())
	require.Zero(t, s.check(t, "").Total())
	require.Len(t, s.claimAll(t), 1200)
}

func TestC53APolicyThatMayEvictThePoolIsTold(t *testing.T) {
	redis := testkit.ForgetfulRedis(t)
	s := setupOn(t, redis.URL(0))
	for policy, may := range map[string]bool{"allkeys-lru": true, "volatile-lru": false, "noeviction": false} {
		command(t, redis, "config", "set", "maxmemory-policy", policy)
		r := s.check(t, "")
		require.Equal(t, policy, r.EvictionPolicy)
		require.Equal(t, may, pool.MayEvict(r.EvictionPolicy))
	}
}
