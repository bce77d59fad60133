package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/client"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// The ledger is away for longer than the confirm timeout and the window together, and for callers the API for
// even longer: what acts on silence is back before they can speak. Callers that commit in time and keep trying
// to say so keep their numbers.
func TestSilenceWhileNobodyCanSpeak(t *testing.T) {
	mariadb := testkit.OwnMariaDB(t)
	s := newStackOnBoth(t, mariadb.DSN("lacuna"), testkit.Redis(t))
	shop := newTills(t, s)
	for round := range rounds(1, 5) {
		const buyers = 24
		rest := func() bool { return s.count(t, "status IN (1, 3)") == 0 } // what the starter held when it was killed
		testkit.Within(t, 3*time.Minute, rest, "numbers hang")
		shop.sell(t, 4, func() { shop.await(t, 50) })
		shop.cutOff(t, buyers)
		require.Equal(t, buyers, s.count(t, "status = 1"), "they have their numbers, and could not say that they use them")
		mariadb.Kill()
		s.temporal.Kill()
		s.starter.Kill()
		testkit.Pass(t, confirmTimeout+safetyWindow+lease) // every deadline passes while nobody can speak
		require.NoError(t, s.temporal.Restart(t.Context()))
		require.NoError(t, mariadb.Restart(t.Context()))
		s.patrols(t, 4) // the runs and the patrol could act now
		s.restart(t, s.starter)
		shop.api.Refuse(false)
		shop.sell(t, 2, func() { shop.await(t, 50) }) // what could be issued again is asked for at once
		shop.said(t)
		testkit.Eventually(t, func() bool {
			var outages, moved int
			require.NoError(t, s.ledger.DB().QueryRowContext(t.Context(), "SELECT COUNT(*), COUNT(shifted_time) FROM t_seq_outage").Scan(&outages, &moved))
			require.Greater(t, outages, round, "the outage is written down")
			return outages == moved
		}, "its deadlines are not moved")
	}
	testkit.Within(t, 3*time.Minute, func() bool { return s.count(t, "status IN (1, 3)") == 0 }, "numbers hang")
	shop.audit(t)
	s.closure(t)
}

// patrols waits until so many more rounds of the patrol have begun. Where Temporal was killed in a round, its schedules
// may learn only by a missing heartbeat, 65 s later, that it is over.
func (s *stack) patrols(t *testing.T, more int) {
	t.Helper()
	rounds := func() int {
		d, err := s.client.ScheduleClient().GetHandle(t.Context(), workflows.PatrolScheduleID).Describe(t.Context())
		if err != nil {
			return 0 // Temporal is coming up
		}
		return d.Info.NumActions
	}
	before := 0
	testkit.Eventually(t, func() bool { before = rounds(); return before > 0 }, "there is no patrol")
	testkit.Within(t, 3*time.Minute, func() bool { return rounds() >= before+more }, "the patrol does not go on")
}

// tills sell with client.InTx and a relay, on a database of their own that stays.
type tills struct {
	*stack
	lacuna  *client.Client
	api     *testkit.Wire // between them and the starter
	db      *sql.DB
	sold    atomic.Int64
	refused atomic.Int64
}

func newTills(t *testing.T, s *stack) *tills {
	t.Helper()
	db, err := sql.Open("mysql", testkit.MariaDB(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(32)
	require.NoError(t, client.Migrate(t.Context(), db))
	_, err = db.ExecContext(t.Context(), "CREATE TABLE orders (number VARCHAR(64) PRIMARY KEY, ticket VARCHAR(128) NOT NULL)")
	require.NoError(t, err)
	api := testkit.Proxy(t, strings.TrimPrefix(s.starter.url, "http://"))
	lacuna, err := client.Dial("http://"+api.Address(), client.WithToken(s.token))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var relay sync.WaitGroup
	relay.Go(func() {
		for ctx.Err() == nil {
			_ = lacuna.Relay(ctx, db) // until the test ends
		}
	})
	t.Cleanup(func() {
		cancel()
		relay.Wait()
		_ = lacuna.Close(ctx)
	})
	return &tills{stack: s, api: api, lacuna: lacuna, db: db}
}

// sell sells with so many tills until the story is told. Some purchases are rolled back.
func (s *tills) sell(t *testing.T, count int, story func()) {
	t.Helper()
	done := make(chan struct{})
	var all sync.WaitGroup
	for till := range count {
		all.Go(func() {
			for purchase := 0; ; purchase++ {
				select {
				case <-done:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				err := s.lacuna.InTx(ctx, s.db, "DEMO", func(tx *sql.Tx, n client.Number) error {
					if purchase%10 == 9 {
						return fmt.Errorf("till %d: the card was refused", till)
					}
					_, err := tx.ExecContext(ctx, "INSERT INTO orders (number, ticket) VALUES (?, ?)", n.SeqNo, n.Ticket)
					return err
				})
				cancel()
				switch {
				case err == nil:
					s.sold.Add(1)
				case purchase%10 != 9:
					s.refused.Add(1)
				}
			}
		})
	}
	story()
	close(done)
	all.Wait()
}

// cutOff lets so many buyers commit at a moment when the API cannot be reached any more.
func (s *tills) cutOff(t *testing.T, buyers int) {
	t.Helper()
	var served, all sync.WaitGroup
	served.Add(buyers)
	commit := make(chan struct{})
	for range buyers {
		all.Go(func() {
			assert.NoError(t, s.lacuna.InTx(t.Context(), s.db, "DEMO", func(tx *sql.Tx, n client.Number) error {
				served.Done()
				<-commit
				_, err := tx.ExecContext(t.Context(), "INSERT INTO orders (number, ticket) VALUES (?, ?)", n.SeqNo, n.Ticket)
				return err
			}))
			s.sold.Add(1)
		})
	}
	served.Wait()
	testkit.Eventually(t, func() bool { return s.count(t, "status = 1") >= buyers }, "they are not recorded")
	s.api.Refuse(true)
	s.api.Cut()
	close(commit)
	all.Wait()
}

// await waits for so many more purchases.
func (s *tills) await(t *testing.T, more int64) {
	t.Helper()
	until := s.sold.Load() + more
	testkit.Eventually(t, func() bool { return s.sold.Load() >= until }, "nothing is sold")
}

// said waits until the outbox is empty: everything was said and answered.
func (s *tills) said(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, func() bool {
		var left int
		require.NoError(t, s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM lacuna_outbox").Scan(&left))
		return left == 0
	}, "confirms are left unsaid or were refused")
}

// audit holds every order against the ledger.
func (s *tills) audit(t *testing.T) {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), "SELECT number, ticket FROM orders")
	require.NoError(t, err)
	defer rows.Close() //nolint:errcheck // it was read
	orders := 0
	for ; rows.Next(); orders++ {
		var number, ticket string
		require.NoError(t, rows.Scan(&number, &ticket))
		n := s.row(t, "DEMO", number)
		require.Equal(t, sequence.Confirmed, n.State, ticket)
		require.Equal(t, ticket, n.Ticket().String(), "its number was issued again")
	}
	require.NoError(t, rows.Err())
	require.EqualValues(t, s.sold.Load(), orders)
	var conflicts int
	require.NoError(t, s.ledger.DB().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t_seq_conflict").Scan(&conflicts))
	require.Zero(t, conflicts)
	t.Logf("%d orders, each with its own number", orders)
}
