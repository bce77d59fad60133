package lacunatest_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect"
	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/client"
	"github.com/lacuna-seq/lacuna/client/lacunatest"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func setup(t *testing.T) (*lacunatest.Server, *client.Client) {
	t.Helper()
	s := lacunatest.New(t)
	s.BizType("ORDER", "A-{seq:6}")
	return s, s.Client()
}

func TestTimePassesOnlyByAdvance(t *testing.T) {
	s, c := setup(t)
	begun := s.Now()
	n, err := c.Next(t.Context(), "ORDER")
	require.NoError(t, err)
	require.Equal(t, begun, s.Now())
	require.Equal(t, []string{"A-000001"}, s.Outstanding("ORDER"))

	s.Advance(sequence.DefaultConfirmTimeout - time.Nanosecond)
	require.Equal(t, []string{"A-000001"}, s.Outstanding("ORDER"))
	s.Advance(time.Hour)
	require.Empty(t, s.Outstanding("ORDER"))
	require.Equal(t, []string{"A-000001"}, s.Abandoned("ORDER"))
	row := s.Numbers("ORDER")[0]
	require.Equal(t, sequence.Replayable, row.State)
	require.Equal(t, begun.Add(sequence.DefaultConfirmTimeout), row.AbandonedTime, "at its own time")

	again, err := c.Next(t.Context(), "ORDER")
	require.NoError(t, err)
	require.Equal(t, "ORDER~A-000001~2", again.Ticket)
	_, err = c.Confirm(t.Context(), n.Ticket)
	require.ErrorIs(t, err, sequence.ErrConflict)
	_, err = c.Confirm(t.Context(), again.Ticket)
	require.NoError(t, err)
	require.Equal(t, []string{"A-000001"}, s.Confirmed("ORDER"))
}

func TestRulesThatChangeMoveDeadlines(t *testing.T) {
	s, c := setup(t)
	n, err := c.Next(t.Context(), "ORDER")
	require.NoError(t, err)
	s.Advance(time.Minute)
	s.BizType("ORDER", "A-{seq:6}", func(b *sequence.BizType) { b.ConfirmTimeout = 30 * time.Second })
	s.Await(n.Ticket, sequence.Abandoned)
}

func TestInTxConfirmsAndAbandons(t *testing.T) {
	s, c := setup(t)
	db, err := sql.Open("mysql", testkit.MariaDB(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	require.NoError(t, client.Migrate(t.Context(), db))

	var kept, dropped client.Number
	require.NoError(t, c.InTx(t.Context(), db, "ORDER", func(_ *sql.Tx, n client.Number) error {
		kept = n
		return nil
	}))
	s.Await(kept.Ticket, sequence.Confirmed)
	because := errors.New("out of stock")
	require.ErrorIs(t, c.InTx(t.Context(), db, "ORDER", func(_ *sql.Tx, n client.Number) error {
		dropped = n
		return because
	}), because)
	s.Await(dropped.Ticket, sequence.Abandoned)
}

func TestTrouble(t *testing.T) {
	t.Run("an outage ends, and the client has waited for it", func(t *testing.T) {
		s, c := setup(t)
		end := s.Outage()
		brief, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := c.Next(brief, "ORDER")
		require.ErrorIs(t, err, sequence.ErrUnavailable)
		require.Empty(t, s.Numbers("ORDER"))
		end()
		end()
		_, err = c.Next(t.Context(), "ORDER")
		require.NoError(t, err)
	})
	t.Run("what fails was not done, and is tried again", func(t *testing.T) {
		s, c := setup(t)
		s.Fail(2, &sequence.BusyError{What: "the queue is full", RetryAfter: time.Millisecond})
		s.Fail(1, sequence.ErrUnavailable)
		n, err := c.Next(t.Context(), "ORDER")
		require.NoError(t, err)
		require.Equal(t, "A-000001", n.SeqNo)
		s.Fail(1, connect.NewError(connect.CodePermissionDenied, errors.New("the token may not touch ORDER")))
		_, err = c.Next(t.Context(), "ORDER")
		require.ErrorContains(t, err, "may not touch ORDER", "it is answered, and not tried again")
		s.Fail(1, sequence.ErrFull)
		_, err = c.Next(t.Context(), "ORDER")
		require.ErrorIs(t, err, sequence.ErrFull)
	})
	t.Run("a lost answer costs a number, unless the call has a key", func(t *testing.T) {
		s, c := setup(t)
		s.LoseAnswers(1)
		n, err := c.Next(t.Context(), "ORDER")
		require.NoError(t, err)
		require.Equal(t, "A-000002", n.SeqNo)
		require.Equal(t, []string{"A-000001", "A-000002"}, s.Outstanding("ORDER"))
		s.LoseAnswers(1)
		n, err = c.Next(t.Context(), "ORDER", client.WithIdempotencyKey("k-1"))
		require.NoError(t, err)
		require.Equal(t, "A-000003", n.SeqNo)
	})
	t.Run("a lost answer to a confirm does no harm", func(t *testing.T) {
		s, c := setup(t)
		n, err := c.Next(t.Context(), "ORDER")
		require.NoError(t, err)
		s.LoseAnswers(1)
		outcome, err := c.Confirm(t.Context(), n.Ticket)
		require.NoError(t, err)
		require.Equal(t, sequence.OutcomeAlreadyConfirmed, outcome)
	})
}

func TestTheDoubleHasNoRunsToSignal(t *testing.T) {
	_, c := setup(t)
	direct, err := c.DirectSignals(t.Context(), "ORDER")
	require.NoError(t, err)
	require.False(t, direct)
}
