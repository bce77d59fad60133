package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/client"
	"github.com/lacuna-seq/lacuna/client/direct"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// doors are both ways to settle a number.
func (s *stack) doors(t *testing.T) (*client.Client, *direct.Door) {
	t.Helper()
	api, err := client.Dial(s.starter.url, client.WithToken(s.token))
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = api.Close(ctx)
	})
	return api, direct.New(s.client, api)
}

// A service that signals a number's run itself comes to the same ends as one that calls the API.
func TestBothDoors(t *testing.T) {
	s := newStack(t)
	s.put(t, `{"name":"TWO","format":"T-{seq:6}","confirmTimeout":"60s","safetyWindow":"60s"}`)
	api, door := s.doors(t)
	take := func(t *testing.T) (ticket, seqNo string) {
		t.Helper()
		ticket, seqNo = s.next(t, "TWO")
		testkit.Eventually(t, func() bool { return s.row(t, "TWO", seqNo).Life == 1 }, "it is not recorded")
		return ticket, seqNo
	}
	t.Run("confirm", func(t *testing.T) {
		ticket, seqNo := take(t)
		outcome, err := door.Confirm(t.Context(), ticket, "o-9")
		require.NoError(t, err)
		require.Equal(t, sequence.OutcomeAccepted, outcome)
		require.Equal(t, "o-9", s.awaitState(t, "TWO", seqNo, sequence.Confirmed).BizKey)
		s.awaitClosed(t, ticket)
		again, err := door.Confirm(t.Context(), ticket, "o-9")
		require.NoError(t, err, "C13: a repetition after the end is no error")
		require.Equal(t, sequence.OutcomeAlreadyConfirmed, again)
		_, err = door.Confirm(t.Context(), ticket, "o-8")
		require.ErrorIs(t, err, sequence.ErrConflict)
		_, err = door.Abandon(t.Context(), ticket)
		require.ErrorIs(t, err, sequence.ErrAlreadyConfirmed)
	})
	t.Run("abandon, and a late confirm through the other door", func(t *testing.T) {
		ticket, seqNo := take(t)
		outcome, err := door.Abandon(t.Context(), ticket)
		require.NoError(t, err)
		require.Equal(t, sequence.OutcomeAccepted, outcome)
		s.awaitState(t, "TWO", seqNo, sequence.Abandoned)
		rescued, err := api.Confirm(t.Context(), ticket)
		require.NoError(t, err)
		require.Equal(t, sequence.OutcomeRescued, rescued)
		s.awaitClosed(t, ticket)
	})
	t.Run("while the API is away", func(t *testing.T) {
		ticket, seqNo := take(t)
		s.starter.Kill()
		defer s.restart(t, s.starter)
		_, err := door.Confirm(t.Context(), ticket, "")
		require.NoError(t, err)
		s.awaitState(t, "TWO", seqNo, sequence.Confirmed)
	})
	t.Run("with a payload that is none changes nothing", func(t *testing.T) {
		ticket, seqNo := take(t)
		s.awaitRun(t, ticket)
		for _, payload := range []any{"o-1", []int{1}, map[string]any{"bizKey": 7}, map[string]string{"bizKey": "a\x00b"}} {
			require.NoError(t, s.client.SignalWorkflow(t.Context(), ticket, "", "confirm", payload))
		}
		_, err := door.Abandon(t.Context(), ticket) // wakes the run, which reads them all
		require.NoError(t, err)
		require.Empty(t, s.awaitState(t, "TWO", seqNo, sequence.Abandoned).ConfirmedTime)
		value, err := s.client.QueryWorkflow(t.Context(), ticket, "", "state")
		require.NoError(t, err)
		var state struct{ Signals, Malformed int }
		require.NoError(t, value.Get(&state))
		require.Equal(t, 5, state.Signals)
		require.Equal(t, 4, state.Malformed)
	})
	t.Run("is closed where the biz type says so", func(t *testing.T) {
		s.put(t, `{"name":"ONE","format":"O-{seq:6}","directSignals":false}`)
		ticket, _ := s.next(t, "ONE")
		_, err := door.Confirm(t.Context(), ticket, "")
		require.ErrorIs(t, err, direct.ErrOff)
		_, err = door.Confirm(t.Context(), "nonsense", "")
		require.ErrorIs(t, err, sequence.ErrInvalid)
	})
}

// Around the deadline a confirm and an abandon race, through either door: whatever is answered is how the
// number ends, for every one (C08: no order between them is needed; C33: no signal is lost at the end).
func TestRacesAroundTheDeadline(t *testing.T) {
	s := newStack(t)
	s.put(t, `{"name":"RACE","format":"R-{seq:6}","confirmTimeout":"4s","safetyWindow":"3s"}`)
	api, door := s.doors(t)
	pairs := rounds(60, 500)
	type answer struct {
		ticket             string
		confirm, abandon   sequence.Outcome
		refused, abandoned error
		signalled          bool
	}
	answers := make([]answer, pairs)
	var all sync.WaitGroup
	numbers, err := api.NextN(t.Context(), "RACE", pairs)
	require.NoError(t, err)
	for i, n := range numbers {
		a := &answers[i]
		a.ticket, a.signalled = n.Ticket, i%3 == 0
		// From a second before the deadline to a second after it.
		at := time.Until(n.ConfirmBy) - time.Second + 2*time.Second*time.Duration(i)/time.Duration(pairs)
		all.Go(func() {
			<-time.After(at)
			if a.signalled {
				a.confirm, a.refused = door.Confirm(t.Context(), a.ticket, "")
				return
			}
			a.confirm, a.refused = api.Confirm(t.Context(), a.ticket)
		})
		all.Go(func() {
			<-time.After(at)
			if i%3 == 1 {
				a.abandon, a.abandoned = door.Abandon(t.Context(), a.ticket)
				return
			}
			a.abandon, a.abandoned = api.Abandon(t.Context(), a.ticket)
		})
	}
	all.Wait()
	count := map[string]int{}
	for _, a := range answers {
		// A number whose confirm was taken ends confirmed: nobody else was given it within its window.
		require.NoError(t, a.refused, a.ticket)
		n := s.awaitState(t, "RACE", mustTicket(t, a.ticket).SeqNo, sequence.Confirmed)
		require.Equal(t, int32(1), n.Life, a.ticket)
		if a.abandoned != nil {
			require.ErrorIs(t, a.abandoned, sequence.ErrAlreadyConfirmed, a.ticket)
		}
		count[a.confirm.String()+"/"+a.abandon.String()]++
	}
	t.Log(count)
	s.closure(t)
}
