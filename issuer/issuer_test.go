package issuer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/issuer"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// runs remembers what Temporal would have been told. The real one is used in e2e.
type runs struct {
	mu     sync.Mutex
	starts map[string]time.Duration
	wakes  map[string]sequence.Kind
	away   bool
	// backlog is how long the oldest task waits.
	backlog time.Duration
}

func (r *runs) Start(_ context.Context, n sequence.Number, left time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return errors.New("connection refused")
	}
	r.starts[n.Ticket().String()] = left
	return nil
}

func (r *runs) Wake(_ context.Context, n sequence.Number, kind sequence.Kind, _ string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return errors.New("connection refused")
	}
	r.wakes[n.Ticket().String()] = kind
	return nil
}

func (r *runs) Backlog(context.Context) (issuer.Backlog, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return issuer.Backlog{Age: r.backlog, Workers: 1}, nil
}

func (r *runs) setAway(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = away
}

func (r *runs) started(ticket string) (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left, ok := r.starts[ticket]
	return left, ok
}

func (r *runs) woken(ticket string) sequence.Kind {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wakes[ticket]
}

// bundle is an issuer on real stores. The direct ledger and pool bypass the wires that a test breaks.
type bundle struct {
	*issuer.Issuer
	ledger    *ledger.Ledger
	pool      *pool.Pool
	ledgerVia *testkit.Wire
	poolVia   *testkit.Wire
	runs      *runs
	redisURL  string
	start     func(t *testing.T) *issuer.Issuer
	lease     time.Duration
}

// setup makes ORDER (A-{seq:6}, window 1 s, 10 fresh numbers at least) and an issuer.
func setup(t *testing.T, lease ...time.Duration) *bundle {
	t.Helper()
	return setupOn(t, testkit.Redis(t), lease...)
}

func setupOn(t *testing.T, url string, lease ...time.Duration) *bundle {
	t.Helper()
	dsn := testkit.MariaDB(t)
	b := &bundle{redisURL: url, lease: issuer.DefaultLease, runs: &runs{starts: map[string]time.Duration{}, wakes: map[string]sequence.Kind{}}}
	if len(lease) > 0 {
		b.lease = lease[0]
	}
	b.ledgerVia = testkit.Proxy(t, between(dsn, "tcp(", ")"))
	b.poolVia = testkit.Proxy(t, between(url, "redis://", "/"))

	b.ledger = openLedger(t, dsn)
	_, err := migrations.Up(t.Context(), b.ledger.DB())
	require.NoError(t, err)
	b.pool = openPool(t, url)
	format, err := sequence.ParseFormat("A-{seq:6}")
	require.NoError(t, err)
	order := sequence.NewBizType("ORDER", format)
	order.SafetyWindow, order.StepMin, order.StepMax = time.Second, 10, 2000
	require.NoError(t, b.ledger.CreateBizType(t.Context(), order))

	b.start = func(t *testing.T) *issuer.Issuer {
		t.Helper()
		viaLedger := openLedger(t, strings.Replace(dsn, between(dsn, "tcp(", ")"), b.ledgerVia.Address(), 1))
		viaPool := openPool(t, strings.Replace(url, between(url, "redis://", "/"), b.poolVia.Address(), 1))
		i, err := issuer.New(t.Context(), viaLedger, viaPool, b.runs, issuer.WithLease(b.lease), issuer.WithLogger(slog.New(slog.NewTextHandler(t.Output(), nil))))
		require.NoError(t, err)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_ = i.Stop(ctx) // a test that cares stops it itself
		})
		return i
	}
	b.Issuer = b.start(t)
	return b
}

func openLedger(t *testing.T, dsn string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(dsn, ledger.WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func openPool(t *testing.T, url string) *pool.Pool {
	t.Helper()
	p, err := pool.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}

func (b *bundle) next(t *testing.T, count int) []issuer.Issued {
	t.Helper()
	issued, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", BizKey: "o-1", Count: count})
	require.NoError(t, err)
	require.Len(t, issued, count)
	return issued
}

func command(t *testing.T, kind sequence.Kind, ticket string) sequence.Command {
	t.Helper()
	parsed, err := sequence.ParseTicket(ticket)
	require.NoError(t, err)
	return sequence.Command{Kind: kind, Ticket: parsed}
}

func (b *bundle) settle(t *testing.T, kind sequence.Kind, ticket string) issuer.Result {
	t.Helper()
	results, err := b.Settle(t.Context(), []sequence.Command{command(t, kind, ticket)})
	require.NoError(t, err)
	return results[0]
}

func (b *bundle) row(t *testing.T, seqNo string) sequence.Number {
	t.Helper()
	n, _, err := b.ledger.Get(t.Context(), "ORDER", seqNo)
	require.NoError(t, err)
	return n
}

func (b *bundle) count(t *testing.T, where string) (n int) {
	t.Helper()
	require.NoError(t, b.ledger.DB().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t_seq_issue_log WHERE "+where).Scan(&n))
	return n
}

// readOnly makes Redis a replica of a server that does not exist, or ends that.
func (b *bundle) readOnly(t *testing.T, replica bool) {
	t.Helper()
	options, err := redis.ParseURL(b.redisURL)
	require.NoError(t, err)
	direct := redis.NewClient(options)
	defer direct.Close() //nolint:errcheck // the server goes with the test
	host, port := "127.0.0.1", "1"
	if !replica {
		host, port = "NO", "ONE"
	}
	require.NoError(t, direct.Do(t.Context(), "REPLICAOF", host, port).Err())
}

// free abandons a number, lets its window pass, and returns it to the pool, as its lifecycle does.
func (b *bundle) free(t *testing.T, tickets ...string) {
	t.Helper()
	for _, ticket := range tickets {
		require.NoError(t, b.settle(t, sequence.Abandon, ticket).Err)
	}
	testkit.Eventually(t, func() bool {
		for _, ticket := range tickets {
			decisions, err := b.ledger.Apply(t.Context(), []sequence.Command{command(t, sequence.Replay, ticket)})
			require.NoError(t, err)
			if decisions[0].Outcome == sequence.OutcomeNotDue {
				return false
			}
			require.NoError(t, b.pool.Push(t.Context(), []sequence.PoolEntry{decisions[0].Pool}))
		}
		return true
	}, "the window did not end")
}

func (b *bundle) recorded(t *testing.T, ticket string) {
	t.Helper()
	parsed, err := sequence.ParseTicket(ticket)
	require.NoError(t, err)
	testkit.Eventually(t, func() bool { return b.row(t, parsed.SeqNo).Life == parsed.Life }, "%s was not recorded", ticket)
}

func TestNext(t *testing.T) {
	t.Run("hands out numbers that the ledger knows, and starts their lifecycles", func(t *testing.T) {
		b := setup(t)
		before := time.Now()
		issued := b.next(t, 1)[0]
		require.Equal(t, "ORDER~A-000001~1", issued.Ticket)
		require.Equal(t, "A-000001", issued.SeqNo)
		require.Equal(t, int32(1), issued.Life)
		require.False(t, issued.ConfirmBy.Before(before.Add(sequence.DefaultConfirmTimeout)))
		b.recorded(t, issued.Ticket)
		n := b.row(t, issued.SeqNo)
		require.Equal(t, sequence.Allocated, n.State)
		require.Equal(t, "o-1", n.BizKey)
		require.Equal(t, issued.BatchID, n.BatchID)
		testkit.Eventually(t, func() bool { _, ok := b.runs.started(issued.Ticket); return ok }, "no lifecycle was started")
		left, _ := b.runs.started(issued.Ticket)
		require.LessOrEqual(t, left, sequence.DefaultConfirmTimeout)
		require.Greater(t, left, sequence.DefaultConfirmTimeout-time.Minute)
	})

	t.Run("gives a free number before a fresh one, after an idle while too", func(t *testing.T) {
		b := setup(t)
		first := b.next(t, 1)[0]
		b.free(t, first.Ticket)
		testkit.Eventually(t, func() bool { // the claim of the first call was a moment ago
			again := b.next(t, 1)[0]
			return again.Ticket == "ORDER~A-000001~2"
		}, "the free number did not come back")
		n := b.row(t, "A-000001")
		require.Equal(t, int32(1), n.Replays+boolToInt(n.State == sequence.Replayed))
	})

	t.Run("gives every caller numbers of its own", func(t *testing.T) {
		b := setup(t)
		var mu sync.Mutex
		seen := map[string]bool{}
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				for range 25 {
					issued, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 2})
					require.NoError(t, err)
					mu.Lock()
					for _, n := range issued {
						require.False(t, seen[n.Ticket], n.Ticket)
						seen[n.Ticket] = true
					}
					mu.Unlock()
				}
			})
		}
		callers.Wait()
		require.Len(t, seen, 1000)
		testkit.Eventually(t, func() bool { return b.count(t, "status = 1 AND life = 1") == 1000 }, "not all hand-outs were recorded")
	})

	t.Run("takes as many as a call may ask for", func(t *testing.T) {
		b := setup(t)
		seen := map[string]bool{}
		for _, n := range b.next(t, issuer.MaxCount) {
			seen[n.SeqNo] = true
		}
		require.Len(t, seen, issuer.MaxCount)
	})

	t.Run("refuses bad input and takes nothing", func(t *testing.T) {
		b := setup(t)
		for _, r := range []issuer.Request{
			{BizType: "order", Count: 1}, {BizType: "ORDER ", Count: 1}, {BizType: "", Count: 1},
			{BizType: "ORDER", Count: 0}, {BizType: "ORDER", Count: -1}, {BizType: "ORDER", Count: issuer.MaxCount + 1},
			{BizType: "ORDER", BizKey: "a\nb", Count: 1},
		} {
			_, err := b.Next(t.Context(), r)
			require.ErrorIs(t, err, sequence.ErrInvalid, "%+v", r)
		}
		_, err := b.Next(t.Context(), issuer.Request{BizType: "NONE", Count: 1})
		require.ErrorIs(t, err, sequence.ErrNotFound)
		require.Zero(t, b.count(t, "TRUE"))
	})

	t.Run("records a number whose caller has gone as abandoned", func(t *testing.T) {
		b := setup(t)
		b.next(t, 1)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := b.Next(gone, issuer.Request{BizType: "ORDER", Count: 3})
		require.ErrorIs(t, err, context.Canceled)
		testkit.Eventually(t, func() bool {
			return b.count(t, "status = 3 AND reason = '"+sequence.ReasonCallerGone+"'") == 3
		}, "the numbers of the caller that has gone were not abandoned")
	})

	t.Run("says that a format is full, and still gives free numbers", func(t *testing.T) {
		b := setup(t)
		format, err := sequence.ParseFormat("S{seq:1}")
		require.NoError(t, err)
		small := sequence.NewBizType("SMALL", format)
		small.SafetyWindow = time.Second
		require.NoError(t, b.ledger.CreateBizType(t.Context(), small))
		issued, err := b.Next(t.Context(), issuer.Request{BizType: "SMALL", Count: 9})
		require.NoError(t, err)
		_, err = b.Next(t.Context(), issuer.Request{BizType: "SMALL", Count: 1})
		require.ErrorIs(t, err, sequence.ErrFull)
		b.free(t, issued[4].Ticket)
		testkit.Eventually(t, func() bool {
			again, err := b.Next(t.Context(), issuer.Request{BizType: "SMALL", Count: 1})
			return err == nil && again[0].Ticket == "SMALL~S5~2"
		}, "the free number did not come back")
	})

	t.Run("that asks for more than there is gives back what it took", func(t *testing.T) {
		b := setup(t)
		format, err := sequence.ParseFormat("S{seq:1}")
		require.NoError(t, err)
		require.NoError(t, b.ledger.CreateBizType(t.Context(), sequence.NewBizType("SMALL", format)))
		_, err = b.Next(t.Context(), issuer.Request{BizType: "SMALL", Count: 10})
		require.Error(t, err)
		issued, err := b.Next(t.Context(), issuer.Request{BizType: "SMALL", Count: 9})
		require.NoError(t, err)
		require.Len(t, issued, 9)
	})
}

func boolToInt(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

func TestStop(t *testing.T) {
	b := setup(t)
	issued := b.next(t, 3)
	require.NoError(t, b.Stop(t.Context()))
	require.Equal(t, 3, b.count(t, "status = 1"), "what was handed out is written down")
	require.Zero(t, b.count(t, "status IN (0, 5)"), "nothing stays held")
	free, err := b.pool.Size(t.Context(), "ORDER", "")
	require.NoError(t, err)
	require.Equal(t, int64(b.count(t, "status = 4")), free)
	require.Positive(t, free)
	for _, n := range issued {
		_, ok := b.runs.started(n.Ticket)
		require.True(t, ok, "its lifecycle was started")
	}
	var ended int
	require.NoError(t, b.ledger.DB().QueryRow("SELECT COUNT(*) FROM t_seq_issuer WHERE id = ? AND ended_time IS NOT NULL", b.ID()).Scan(&ended))
	require.Equal(t, 1, ended)

	_, err = b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
	require.ErrorIs(t, err, sequence.ErrUnavailable)

	b.Issuer = b.start(t)
	testkit.Eventually(t, func() bool {
		again := b.next(t, 1)[0]
		require.Equal(t, int32(1), again.Life, "a number that was handed back was never handed out")
		return again.SeqNo == "A-000004"
	}, "the numbers that were handed back do not go out again")
}

func TestSettle(t *testing.T) {
	t.Run("finds a number that was handed out a moment ago", func(t *testing.T) {
		b := setup(t)
		for range 50 {
			require.Equal(t, sequence.OutcomeConfirmed, b.settle(t, sequence.Confirm, b.next(t, 1)[0].Ticket).Outcome)
		}
	})
	t.Run("wakes the lifecycle", func(t *testing.T) {
		b := setup(t)
		issued := b.next(t, 2)
		b.settle(t, sequence.Confirm, issued[0].Ticket)
		b.settle(t, sequence.Abandon, issued[1].Ticket)
		testkit.Eventually(t, func() bool {
			return b.runs.woken(issued[0].Ticket) == sequence.Confirm && b.runs.woken(issued[1].Ticket) == sequence.Abandon
		}, "the lifecycles were not woken")
	})
	t.Run("answers each command in its place", func(t *testing.T) {
		b := setup(t)
		issued := b.next(t, 2)
		results, err := b.Settle(t.Context(), []sequence.Command{
			command(t, sequence.Confirm, issued[0].Ticket), command(t, sequence.Confirm, "ORDER~A-999999~1"),
			command(t, sequence.Abandon, issued[1].Ticket), command(t, sequence.Abandon, issued[0].Ticket),
		})
		require.NoError(t, err)
		require.Equal(t, sequence.OutcomeConfirmed, results[0].Outcome)
		require.ErrorIs(t, results[1].Err, sequence.ErrNotFound)
		require.Equal(t, sequence.OutcomeAbandoned, results[2].Outcome)
		require.ErrorIs(t, results[3].Err, sequence.ErrAlreadyConfirmed)
	})
	t.Run("by name means the only life there was", func(t *testing.T) {
		b := setup(t)
		issued := b.next(t, 1)[0]
		named := sequence.Command{Kind: sequence.Confirm, Ticket: sequence.Ticket{BizType: "ORDER", SeqNo: issued.SeqNo}}
		results, err := b.Settle(t.Context(), []sequence.Command{named})
		require.NoError(t, err)
		require.Equal(t, sequence.OutcomeConfirmed, results[0].Outcome)
	})
	t.Run("by name never touches a number that was not handed out", func(t *testing.T) {
		b := setup(t)
		b.next(t, 1)
		results, err := b.Settle(t.Context(), []sequence.Command{
			{Kind: sequence.Confirm, Ticket: sequence.Ticket{BizType: "ORDER", SeqNo: "A-000005"}},
		})
		require.NoError(t, err)
		require.ErrorIs(t, results[0].Err, sequence.ErrNotFound)
		require.Equal(t, sequence.Reserved, b.row(t, "A-000005").State)
	})
	t.Run("of a second life needs the ticket", func(t *testing.T) {
		b := setup(t)
		first := b.next(t, 1)[0]
		b.free(t, first.Ticket)
		testkit.Eventually(t, func() bool { return b.next(t, 1)[0].Life == 2 }, "the free number did not come back")
		b.recorded(t, "ORDER~A-000001~2")
		results, err := b.Settle(t.Context(), []sequence.Command{
			{Kind: sequence.Confirm, Ticket: sequence.Ticket{BizType: "ORDER", SeqNo: "A-000001"}},
		})
		require.NoError(t, err)
		require.ErrorIs(t, results[0].Err, sequence.ErrTicketRequired)

		// C01: what the first holder still says does nothing to the second.
		require.ErrorIs(t, b.settle(t, sequence.Abandon, first.Ticket).Err, sequence.ErrStale)
		require.ErrorIs(t, b.settle(t, sequence.Confirm, first.Ticket).Err, sequence.ErrConflict)
		require.Equal(t, sequence.OutcomeConfirmed, b.settle(t, sequence.Confirm, "ORDER~A-000001~2").Outcome)
	})
	t.Run("refuses too many, none, and what is no command", func(t *testing.T) {
		b := setup(t)
		for _, commands := range [][]sequence.Command{
			nil, make([]sequence.Command, issuer.MaxSettle+1), {{Kind: sequence.Replay}},
		} {
			_, err := b.Settle(t.Context(), commands)
			require.ErrorIs(t, err, sequence.ErrInvalid)
		}
	})
}

func TestTheLedgerIsAway(t *testing.T) {
	b := setup(t)
	held := b.next(t, 1)
	b.recorded(t, held[0].Ticket)
	b.ledgerVia.Refuse(true)
	b.ledgerVia.Cut()

	var tickets []string
	var fault error
	for fault == nil { // memory first
		var issued []issuer.Issued
		if issued, fault = b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1}); fault == nil {
			tickets = append(tickets, issued[0].Ticket)
		}
	}
	require.NotEmpty(t, tickets)
	require.ErrorIs(t, fault, sequence.ErrUnavailable)

	accepted := b.settle(t, sequence.Confirm, tickets[0])
	require.NoError(t, accepted.Err)
	require.Equal(t, sequence.OutcomeAccepted, accepted.Outcome)
	require.Equal(t, sequence.Confirm, b.runs.woken(tickets[0]))
	b.runs.setAway(true)
	require.ErrorIs(t, b.settle(t, sequence.Confirm, tickets[0]).Err, sequence.ErrUnavailable)
	b.runs.setAway(false)

	b.ledgerVia.Refuse(false)
	for _, ticket := range tickets {
		b.recorded(t, ticket)
	}
	parsed, err := sequence.ParseTicket(tickets[0])
	require.NoError(t, err)
	testkit.Eventually(t, func() bool { return b.row(t, parsed.SeqNo).State == sequence.Confirmed }, "what was accepted was not carried out")
	testkit.Eventually(t, func() bool {
		_, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
		return err == nil
	}, "issuing did not recover")
}

func TestThePoolIsAway(t *testing.T) {
	b := setup(t)
	b.poolVia.Refuse(true)
	b.poolVia.Cut()
	for i := range 30 {
		require.Equal(t, fmt.Sprintf("A-%06d", i+1), b.next(t, 1)[0].SeqNo)
	}
	require.NoError(t, b.Stop(t.Context()))
	require.Zero(t, b.count(t, "status IN (0, 5)"), "numbers go back to the ledger without the pool")
}

// C05: a pop whose reply is lost has happened; no number is lost by it.
func TestALostReplyOfThePoolLosesAHintOnly(t *testing.T) {
	b := setup(t)
	first := b.next(t, 1)[0]
	b.free(t, first.Ticket)
	b.poolVia.LoseReplies(true)
	testkit.Eventually(t, func() bool { b.next(t, 1); return b.poolVia.Lost() > 0 }, "the pool was not asked")
	b.poolVia.LoseReplies(false)
	require.Equal(t, sequence.Replayable, b.row(t, first.SeqNo).State, "the ledger knows that it is free")
	require.NoError(t, b.pool.Push(t.Context(), []sequence.PoolEntry{{BizType: "ORDER", SeqNo: first.SeqNo, Score: 1}}))
	testkit.Eventually(t, func() bool { return b.next(t, 1)[0].Ticket == "ORDER~A-000001~2" }, "the number did not come back")
}

// C59: an answer of the ledger that is lost is read again; what was done is not done twice.
func TestALostReplyOfTheLedgerLosesNothing(t *testing.T) {
	b := setup(t)
	seen := map[string]bool{}
	for round := range 10 {
		for range 20 {
			issued, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
			if err != nil {
				require.ErrorIs(t, err, sequence.ErrUnavailable)
				continue
			}
			require.False(t, seen[issued[0].Ticket], issued[0].Ticket)
			seen[issued[0].Ticket] = true
		}
		lost := b.ledgerVia.Lost()
		switch round % 3 {
		case 0: // what was asked was not done, or nobody knows whether it was
			b.ledgerVia.LoseReplies(true)
		case 1: // it was done
			b.ledgerVia.LoseRepliesTo("COMMIT")
		}
		if round%3 < 2 {
			testkit.Eventually(t, func() bool {
				issued, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
				if err == nil {
					require.False(t, seen[issued[0].Ticket], issued[0].Ticket)
					seen[issued[0].Ticket] = true
				}
				return b.ledgerVia.Lost() > lost
			}, "the ledger was not asked")
		}
		b.ledgerVia.LoseReplies(false)
		b.ledgerVia.LoseRepliesTo("")
	}
	for ticket := range seen {
		b.recorded(t, ticket)
	}
	require.NoError(t, b.Stop(t.Context()))
	require.Equal(t, len(seen), b.count(t, "status = 1"))
	require.Zero(t, b.count(t, "status IN (0, 5)"), "nothing stays held")
}

func TestANumberThatTheLedgerDoesNotHoldStopsItsBatch(t *testing.T) {
	b := setup(t)
	first := b.next(t, 1)[0]
	_, err := b.ledger.DB().ExecContext(t.Context(), "UPDATE t_seq_issue_log SET owner = 'somebody-else' WHERE seq_no = 'A-000002'")
	require.NoError(t, err)
	b.next(t, 1)
	testkit.Eventually(t, func() bool { return b.next(t, 1)[0].BatchID != first.BatchID }, "the batch is still issued from")
	var conflicts int
	require.NoError(t, b.ledger.DB().QueryRow("SELECT COUNT(*) FROM t_seq_conflict WHERE seq_no = 'A-000002'").Scan(&conflicts))
	require.Equal(t, 1, conflicts)
}

func TestNextAllocatesAtMostTwoObjects(t *testing.T) {
	b := setup(t)
	b.next(t, 1)
	for b.next(t, 1)[0].SeqNo < "A-002000" { // a rate, and with it a deep buffer
		b.next(t, 100)
	}
	request := issuer.Request{BizType: "ORDER", BizKey: "o-1", Count: 1}
	allocations := testing.AllocsPerRun(200, func() {
		if _, err := b.Next(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	})
	require.LessOrEqual(t, allocations, 2.0)
}

// A hand-back whose answer is lost may have happened: its numbers may be another's by then.
func TestANumberThatWasHandedBackIsNotHandedOut(t *testing.T) {
	b := setup(t)
	issued := b.next(t, 2)
	b.free(t, issued[0].Ticket, issued[1].Ticket)
	testkit.Eventually(t, func() bool { return b.next(t, 1)[0].Ticket == "ORDER~A-000001~2" }, "the first did not come back")
	b.recorded(t, "ORDER~A-000001~2")
	first := issued[1] // the one behind it is claimed and waits in memory
	testkit.Eventually(t, func() bool { return b.row(t, first.SeqNo).State == sequence.Replayed }, "the second was not claimed")
	b.ledgerVia.LoseRepliesTo("COMMIT")
	testkit.Eventually(t, func() bool { return b.row(t, first.SeqNo).State == sequence.Replayable }, "it was not handed back")
	require.NoError(t, b.ledger.RegisterIssuer(t.Context(), "issuer-2", "host-2", time.Hour))
	decisions, err := b.ledger.Apply(t.Context(), []sequence.Command{{
		Kind: sequence.Claim, Owner: "issuer-2", BatchID: "claim-2", Ticket: sequence.Ticket{BizType: "ORDER", SeqNo: first.SeqNo},
	}})
	require.NoError(t, err)
	require.Equal(t, sequence.OutcomeClaimed, decisions[0].Outcome)
	b.ledgerVia.LoseRepliesTo("")
	for range 50 {
		issued, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
		if err == nil {
			require.NotEqual(t, first.SeqNo, issued[0].SeqNo)
		}
	}
	require.Equal(t, "issuer-2", b.row(t, first.SeqNo).Owner)
}

func TestAHintWithoutARowIsDropped(t *testing.T) {
	b := setup(t)
	b.next(t, 1)
	require.NoError(t, b.pool.Push(t.Context(), []sequence.PoolEntry{{BizType: "ORDER", SeqNo: "A-999999", Score: -1}}))
	testkit.Eventually(t, func() bool {
		b.next(t, 1)
		n, err := b.pool.Size(t.Context(), "ORDER", "")
		return err == nil && n == 0
	}, "the hint is still in the pool")
}

func TestAFreeNumberThatIsLockedComesBack(t *testing.T) {
	b := setup(t)
	first := b.next(t, 1)[0]
	b.free(t, first.Ticket)
	tx, err := b.ledger.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	var id int64
	require.NoError(t, tx.QueryRow("SELECT id FROM t_seq_issue_log WHERE seq_no = ? FOR UPDATE", first.SeqNo).Scan(&id))
	b.next(t, 1) // a claim may pass over it
	require.NoError(t, tx.Rollback())
	testkit.Eventually(t, func() bool { return b.next(t, 1)[0].Ticket == "ORDER~A-000001~2" }, "the number did not come back")
}

func TestLease(t *testing.T) {
	lapse := func(t *testing.T, b *bundle, id string) {
		t.Helper()
		_, err := b.ledger.DB().ExecContext(t.Context(), "UPDATE t_seq_issuer SET lease_until = UTC_TIMESTAMP(6) WHERE id = ?", id)
		require.NoError(t, err)
	}
	t.Run("that was over is followed by another, and nothing of the first is handed out", func(t *testing.T) {
		b := setup(t, issuer.MinLease)
		first := b.ID()
		batch := b.next(t, 1)[0].BatchID
		b.recorded(t, "ORDER~A-000001~1")
		lapse(t, b, first)
		testkit.Eventually(t, func() bool { return b.ID() != first }, "no new lease began")
		for range 5 {
			testkit.Eventually(t, func() bool {
				issued, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
				require.True(t, err != nil || issued[0].BatchID != batch, "a number of the lease that was over went out")
				return err == nil
			}, "issuing did not go on")
		}
		require.Equal(t, 9, b.count(t, "status = 0 AND owner = '"+first+"'"), "what the first held is the patrol's")
	})
	t.Run("that cannot be renewed ends here before it does in the ledger", func(t *testing.T) {
		b := setup(t, issuer.MinLease)
		b.next(t, 1)
		b.recorded(t, "ORDER~A-000001~1")
		b.ledgerVia.Refuse(true)
		b.ledgerVia.Cut()
		testkit.Eventually(t, func() bool {
			_, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
			return errors.Is(err, sequence.ErrUnavailable) && strings.Contains(err.Error(), "lease")
		}, "numbers went out without a lease")
		b.ledgerVia.Refuse(false)
		testkit.Eventually(t, func() bool {
			_, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
			return err == nil
		}, "issuing did not recover")
	})
	t.Run("is renewed as long as the issuer works", func(t *testing.T) {
		b := setup(t, issuer.MinLease)
		first := b.ID()
		until := func() (until time.Time) {
			require.NoError(t, b.ledger.DB().QueryRow("SELECT lease_until FROM t_seq_issuer WHERE id = ?", first).Scan(&until))
			return until
		}
		begun := until()
		testkit.Eventually(t, func() bool { return until().After(begun.Add(issuer.MinLease)) }, "the lease was not renewed")
		require.Equal(t, first, b.ID())
	})
}
