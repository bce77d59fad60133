package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/client"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Numbers that wait follow changed settings: longer, they wait longer; shorter, they come back sooner
// (C47: no setting is read inside a workflow).
func TestWaitingNumbersFollowTheirSettings(t *testing.T) {
	s := newStack(t)
	s.put(t, `{"name":"LIVE","format":"L-{seq:6}","confirmTimeout":"3600s","safetyWindow":"3600s"}`)
	_, held := s.next(t, "LIVE")
	abandoned, abandonedNo := s.next(t, "LIVE")
	require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", abandoned))
	testkit.Eventually(t, func() bool { return s.row(t, "LIVE", held).Life == 1 }, "it is not recorded")
	deadlines := func() (confirmBy, windowEnd time.Duration) {
		h, a := s.row(t, "LIVE", held), s.row(t, "LIVE", abandonedNo)
		return h.Deadline.Sub(h.IssuedTime), a.Deadline.Sub(a.AbandonedTime)
	}
	s.put(t, `{"name":"LIVE","confirmTimeout":"7200s","safetyWindow":"5400s","revision":1}`)
	testkit.Eventually(t, func() bool {
		confirmBy, windowEnd := deadlines()
		return confirmBy == 2*time.Hour && windowEnd == 90*time.Minute
	}, "longer does not reach them")
	// Shorter than what is past: at once, and by the ordinary course.
	s.put(t, `{"name":"LIVE","confirmTimeout":"1s","safetyWindow":"1s","revision":2}`)
	for _, seqNo := range []string{held, abandonedNo} {
		n := s.awaitState(t, "LIVE", seqNo, sequence.Replayable)
		require.GreaterOrEqual(t, n.AbandonedTime, n.IssuedTime)
	}
	s.closure(t)
}

// A holder that asks for more time gets it, within what its biz type allows.
func TestExtend(t *testing.T) {
	s := newStack(t)
	s.put(t, `{"name":"SLOW","format":"S-{seq:6}","confirmTimeout":"2s","safetyWindow":"1s","extendLimit":"60s"}`)
	api, _ := s.doors(t)
	n, err := api.Next(t.Context(), "SLOW")
	require.NoError(t, err)
	confirmBy, err := api.Extend(t.Context(), n.Ticket, 50*time.Second)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(50*time.Second), confirmBy, 10*time.Second)
	_, err = api.Extend(t.Context(), n.Ticket, 70*time.Second)
	require.ErrorIs(t, err, sequence.ErrOverLimit)

	silent, err := api.Next(t.Context(), "SLOW")
	require.NoError(t, err)
	s.awaitState(t, "SLOW", silent.SeqNo, sequence.Replayable)
	_, err = api.Extend(t.Context(), silent.Ticket, 10*time.Second)
	require.ErrorIs(t, err, sequence.ErrTooLate)
	require.Equal(t, sequence.Allocated, s.row(t, "SLOW", n.SeqNo).State, "it outlives the one that asked for nothing")
	outcome, err := api.Confirm(t.Context(), n.Ticket, client.ByBizKey("o-1"))
	require.NoError(t, err)
	require.Equal(t, sequence.OutcomeConfirmed, outcome)
	_, err = api.Extend(t.Context(), n.Ticket, time.Second)
	require.ErrorIs(t, err, sequence.ErrAlreadyConfirmed)
	_, err = api.Extend(t.Context(), n.Ticket, 0)
	require.ErrorIs(t, err, sequence.ErrInvalid)
}
