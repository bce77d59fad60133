package activities_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestSettle(t *testing.T) {
	settle := func(a *activities.Activities, commands ...activities.Command) (activities.SettleResult, error) {
		return a.Settle(context.Background(), activities.SettleInput{Ticket: ticket, Commands: commands})
	}
	confirm, abandon := activities.Command{Kind: "confirm", BizKey: "o-1"}, activities.Command{Kind: "abandon"}

	t.Run("without a command tells where the number stands and what time is left", func(t *testing.T) {
		_, a, _ := setup(t)
		result, err := settle(a)
		require.NoError(t, err)
		require.Equal(t, activities.SettleResult{Outcome: sequence.OutcomeUnchanged, State: sequence.Allocated, Wait: time.Minute}, result)
	})
	t.Run("expires a number whose time is over", func(t *testing.T) {
		_, a, _ := setup(t, func(n *sequence.Number) { n.Deadline = now })
		result, err := settle(a)
		require.NoError(t, err)
		require.Equal(t, activities.SettleResult{
			Outcome: sequence.OutcomeExpired, State: sequence.Abandoned, Wait: 2 * time.Minute, Reason: sequence.ReasonNotConfirmed,
		}, result)
	})
	t.Run("carries the commands out before it expires anything", func(t *testing.T) {
		s, a, _ := setup(t, func(n *sequence.Number) { n.Deadline = now })
		result, err := settle(a, confirm)
		require.NoError(t, err)
		require.Equal(t, activities.SettleResult{
			Outcome: sequence.OutcomeUnchanged, State: sequence.Confirmed, Commands: []sequence.Outcome{sequence.OutcomeConfirmed},
		}, result)
		require.Equal(t, "o-1", s.row.BizKey)
	})
	t.Run("answers the commands in their order, in one call of the ledger", func(t *testing.T) {
		s, a, _ := setup(t)
		s.pool[s.row.SeqNo] = 1
		result, err := settle(a, abandon, abandon, confirm, abandon)
		require.NoError(t, err)
		require.Equal(t, []sequence.Outcome{
			sequence.OutcomeAbandoned, sequence.OutcomeAlreadyAbandoned, sequence.OutcomeRescued, sequence.OutcomeAlreadyConfirmed,
		}, result.Commands)
		require.Len(t, s.batches, 1)
		require.Empty(t, s.pool, "a rescued number leaves the pool")
	})
	t.Run("rescues also while the pool is away", func(t *testing.T) {
		s, a, _ := setup(t, in(sequence.Replayable))
		s.beforeRemove = func(context.Context) error { return errRefused }
		result, err := settle(a, confirm)
		require.NoError(t, err)
		require.Equal(t, []sequence.Outcome{sequence.OutcomeRescued}, result.Commands)
	})
	t.Run("reports a number that has moved on, and one that never was", func(t *testing.T) {
		_, a, _ := setup(t, ofLife(2))
		result, err := settle(a, confirm)
		require.NoError(t, err)
		require.Equal(t, sequence.OutcomeSuperseded, result.Outcome)
		require.Equal(t, []sequence.Outcome{sequence.OutcomeConflict}, result.Commands)

		result, err = a.Settle(t.Context(), activities.SettleInput{Ticket: "ORDER~A-000009~1"})
		require.NoError(t, err)
		require.Equal(t, sequence.OutcomeNotFound, result.Outcome)
	})
}

func TestSettleJoinsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a, _ := setup(t)
		open := make(chan struct{})
		s.beforeApply = func(context.Context) error { <-open; return nil }
		var calls sync.WaitGroup
		for range 400 {
			calls.Go(func() {
				result, err := a.Settle(t.Context(), activities.SettleInput{Ticket: ticket})
				if err != nil || result.State != sequence.Allocated {
					t.Errorf("result %v, error %v", result, err)
				}
			})
		}
		synctest.Wait() // two workers are in a call, and the rest has queued up
		close(open)
		calls.Wait()
		require.LessOrEqual(t, len(s.batches), 4)
	})
}

// The server looks at the outermost error alone, and retries what it does not know (C14).
func TestErrorsGiveTheirVerdictOnRetrying(t *testing.T) {
	fault := func(t *testing.T, err error) *temporal.ApplicationError {
		t.Helper()
		app, outermost := err.(*temporal.ApplicationError) //nolint:errorlint // that it is not wrapped is the point
		require.True(t, outermost, "%T", err)
		return app
	}

	t.Run("a ledger that is away is asked again", func(t *testing.T) {
		s, a, _ := setup(t)
		s.beforeApply = away
		_, err := a.Settle(t.Context(), activities.SettleInput{Ticket: ticket})
		require.Equal(t, activities.ErrorLedgerAway, fault(t, err).Type())
		require.False(t, fault(t, err).NonRetryable())
	})
	t.Run("a pool that is away is asked again", func(t *testing.T) {
		s, _, env := setup(t, abandoned(0))
		s.beforePush = func(context.Context) error { return errRefused }
		_, err := env.ExecuteActivity(activities.ReplayName, activities.ReplayInput{Ticket: ticket})
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		require.Equal(t, activities.ErrorPoolAway, app.Type())
		require.False(t, app.NonRetryable())
	})
	t.Run("an input that can never be carried out is not", func(t *testing.T) {
		s, a, _ := setup(t)
		_, malformed := a.Settle(t.Context(), activities.SettleInput{Ticket: "nonsense"})
		_, unknown := a.Settle(t.Context(), activities.SettleInput{Ticket: ticket, Commands: []activities.Command{{Kind: "replay"}}})
		_, replay := a.Replay(t.Context(), activities.ReplayInput{Ticket: "ORDER~A-000001~01"})
		for _, err := range []error{malformed, unknown, replay} {
			require.Equal(t, activities.ErrorInvalidInput, fault(t, err).Type())
			require.True(t, fault(t, err).NonRetryable())
		}
		require.Empty(t, s.batches)
	})
}
