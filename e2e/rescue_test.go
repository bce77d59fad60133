package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// A late confirm saves its number wherever that is on its way to be issued again.
func TestALateConfirmRescues(t *testing.T) {
	redis := testkit.OwnRedis(t)
	s := newStackOn(t, redis.URL(0))
	s.put(t, `{"name":"LATE","format":"L-{seq:6}","confirmTimeout":"60s","safetyWindow":"1s","retryDelays":["0.1s"],"maxReplays":1}`)
	abandon := func() (ticket, seqNo string) {
		ticket, seqNo = s.next(t, "LATE")
		require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
		return ticket, seqNo
	}
	pooled := func() int64 {
		n, err := s.pool.Size(t.Context(), "LATE", "")
		require.NoError(t, err)
		return n
	}
	t.Run("in the pool", func(t *testing.T) {
		ticket, seqNo := abandon()
		s.awaitState(t, "LATE", seqNo, sequence.Replayable)
		testkit.Eventually(t, func() bool { return pooled() == 1 }, "it is not in the pool")
		require.Equal(t, "OUTCOME_RESCUED", s.settle(t, "Confirm", ticket))
		testkit.Eventually(t, func() bool { return pooled() == 0 }, "it is still in the pool")
		require.Equal(t, sequence.Confirmed, s.row(t, "LATE", seqNo).State)
	})
	t.Run("when it is a dead letter, which is resolved by it", func(t *testing.T) {
		redis.Kill()
		ticket, seqNo := abandon()
		s.awaitState(t, "LATE", seqNo, sequence.Dead)
		require.NoError(t, redis.Restart(t.Context()))
		require.Equal(t, "OUTCOME_RESCUED", s.settle(t, "Confirm", ticket))
		require.Empty(t, s.operate(t, "ListDeadLetters", `{}`)["deadLetters"])
		skipped := s.operate(t, "RequeueDeadLetters", `{"filter":{"tickets":["`+ticket+`"]},"actor":"mia"}`)
		require.Nil(t, skipped["requeued"])
		require.Equal(t, sequence.Confirmed, s.row(t, "LATE", seqNo).State)
		var told []any
		for _, e := range s.timeline(t, ticket) {
			told = append(told, e["what"])
		}
		require.Equal(t, []any{"ISSUED", "ABANDONED", "DEAD", "RESCUED", "CONFIRMED"}, told)
	})
	t.Run("when it is retired", func(t *testing.T) {
		var ticket, seqNo string
		testkit.Eventually(t, func() bool {
			if ticket == "" || s.row(t, "LATE", seqNo).State == sequence.Replayable {
				again, no := s.next(t, "LATE")
				if ticket == "" || no == seqNo {
					ticket, seqNo = again, no
					s.settle(t, "Abandon", ticket)
				} else {
					s.settle(t, "Confirm", again)
				}
			}
			return s.row(t, "LATE", seqNo).State == sequence.Retired
		}, "it is not retired")
		require.Equal(t, "OUTCOME_RESCUED", s.settle(t, "Confirm", ticket))
		require.Equal(t, "OUTCOME_ALREADY_CONFIRMED", s.settle(t, "Confirm", ticket))
	})
	s.closure(t)
}
