package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/client"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// The ledger is away for longer than the confirm timeout and the window together, Temporal at first too, so
// that nobody can say a word. Callers that commit in time and keep trying to say so keep their numbers.
func TestSilenceWhileNobodyCanSpeak(t *testing.T) {
	mariadb := testkit.OwnMariaDB(t)
	s := newStackOnBoth(t, mariadb.DSN("lacuna"), testkit.Redis(t))
	shop := newTills(t, s)
	for range rounds(1, 5) {
		shop.sell(t, 8, func() {
			shop.await(t, 50)
			mariadb.Kill()
			s.temporal.Kill()
			// The tills go on with what is in memory, until the process's lease is over.
			testkit.Eventually(t, func() bool { return shop.refused.Load() > 0 }, "numbers are issued without a lease")
		})
		require.NoError(t, s.temporal.Restart(t.Context()))
		silent := confirmTimeout + safetyWindow + 2*lease
		time.Sleep(silent) // the story: every deadline passes while nobody can speak
		require.NoError(t, mariadb.Restart(t.Context()))
		shop.sell(t, 2, func() { shop.await(t, 50) }) // what could be issued again is asked for at once
		shop.said(t)
	}
	testkit.Eventually(t, func() bool {
		var outages, moved int
		require.NoError(t, s.ledger.DB().QueryRowContext(t.Context(), "SELECT COUNT(*), COUNT(shifted_time) FROM t_seq_outage").Scan(&outages, &moved))
		require.Positive(t, outages, "the outage is not written down")
		return outages == moved
	}, "its deadlines are not moved")
	testkit.Within(t, 3*time.Minute, func() bool { return s.count(t, "status IN (1, 3)") == 0 }, "numbers hang")
	shop.audit(t)
	s.closure(t)
}

// tills sell with client.InTx and a relay, on a database of their own that stays.
type tills struct {
	*stack
	lacuna  *client.Client
	db      *sql.DB
	sold    atomic.Int64
	refused atomic.Int64
}

func newTills(t *testing.T, s *stack) *tills {
	t.Helper()
	db, err := sql.Open("mysql", testkit.MariaDB(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(16)
	require.NoError(t, client.Migrate(t.Context(), db))
	_, err = db.ExecContext(t.Context(), "CREATE TABLE orders (number VARCHAR(64) PRIMARY KEY, ticket VARCHAR(128) NOT NULL)")
	require.NoError(t, err)
	lacuna, err := client.Dial(s.starter.url)
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
	return &tills{stack: s, lacuna: lacuna, db: db}
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
