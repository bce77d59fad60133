package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// The main job: issue, confirm or abandon, wait out the window, replay, issue again.
func TestALifeOfANumber(t *testing.T) {
	s := newStack(t)

	t.Run("an abandoned number is issued again after its window, once, with the next life", func(t *testing.T) {
		s.bizType(t, "ABANDON", "A-{seq:6}", confirmTimeout, safetyWindow)
		ticket, seqNo := s.next(t, "ABANDON")
		require.Equal(t, "ABANDON~A-000001~1", ticket)
		require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
		abandoned := s.row(t, "ABANDON", seqNo)
		s.awaitState(t, "ABANDON", seqNo, sequence.Replayable)
		testkit.Eventually(t, func() bool { n, err := s.pool.Size(t.Context(), "ABANDON", ""); return err == nil && n == 1 }, "it is not in the pool")
		again, _ := s.next(t, "ABANDON")
		for again != "ABANDON~A-000001~2" { // a claim of a moment ago may have found the pool empty
			again, _ = s.next(t, "ABANDON")
		}
		testkit.Eventually(t, func() bool { return s.row(t, "ABANDON", seqNo).Life == 2 }, "the second life is not recorded")
		reissued := s.row(t, "ABANDON", seqNo)
		require.False(t, reissued.IssuedTime.Before(abandoned.AbandonedTime.Add(safetyWindow)), "by the database's clock")
		require.Equal(t, "failed_precondition", s.settle(t, "Abandon", ticket), "the first holder's repeat does nothing to the second (C01)")
		require.Equal(t, "already_exists", s.settle(t, "Confirm", ticket))
		require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", again))
	})

	t.Run("a number left alone comes back", func(t *testing.T) {
		s.bizType(t, "SILENT", "S-{seq:6}", confirmTimeout, safetyWindow)
		_, seqNo := s.next(t, "SILENT")
		testkit.Eventually(t, func() bool { return s.row(t, "SILENT", seqNo).State == sequence.Allocated }, "it is not recorded")
		issued := s.row(t, "SILENT", seqNo)
		free := s.awaitState(t, "SILENT", seqNo, sequence.Replayable)
		require.False(t, free.AbandonedTime.Before(issued.IssuedTime.Add(confirmTimeout)))
	})

	t.Run("a confirmed number never does, and confirming it again is harmless", func(t *testing.T) {
		s.bizType(t, "SOLD", "C-{seq:6}", confirmTimeout, safetyWindow)
		ticket, seqNo := s.next(t, "SOLD")
		require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", ticket))
		s.awaitClosed(t, ticket)
		require.Equal(t, "OUTCOME_ALREADY_CONFIRMED", s.settle(t, "Confirm", ticket))
		require.Equal(t, "failed_precondition", s.settle(t, "Abandon", ticket))
		_, later := s.next(t, "SOLD") // when this one has come back, the confirmed one would have, too
		s.awaitState(t, "SOLD", later, sequence.Replayable)
		require.Equal(t, sequence.Confirmed, s.row(t, "SOLD", seqNo).State)
		free, err := s.pool.Pop(t.Context(), "SOLD", "", 10)
		require.NoError(t, err)
		require.NotContains(t, free, seqNo)
	})

	t.Run("a confirm during the window rescues", func(t *testing.T) {
		s.bizType(t, "RESCUE", "R-{seq:6}", confirmTimeout, safetyWindow)
		ticket, seqNo := s.next(t, "RESCUE")
		require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
		require.Equal(t, "OUTCOME_RESCUED", s.settle(t, "Confirm", ticket))
		s.awaitClosed(t, ticket)
		require.Equal(t, sequence.Confirmed, s.row(t, "RESCUE", seqNo).State)
	})

	t.Run("its runs are short: 8 events confirmed, 24 abandoned", func(t *testing.T) {
		s.bizType(t, "COUNTED", "E-{seq:6}", confirmTimeout, safetyWindow)
		confirmed, _ := s.next(t, "COUNTED")
		s.awaitRun(t, confirmed) // in life, the start comes first
		s.settle(t, "Confirm", confirmed)
		abandoned, _ := s.next(t, "COUNTED")
		s.awaitRun(t, abandoned)
		s.settle(t, "Abandon", abandoned)
		s.awaitClosed(t, confirmed)
		s.awaitClosed(t, abandoned)
		require.LessOrEqual(t, s.events(t, confirmed), 8)
		require.LessOrEqual(t, s.events(t, abandoned), 24)
	})

	t.Run("a number that nobody keeps is retired after its replays, and its gap declared", func(t *testing.T) { // C61
		s.bizType(t, "HOT", "H-{seq:6}", confirmTimeout, safetyWindow)
		retired := func() bool { return s.row(t, "HOT", "H-000001").State == sequence.Retired }
		testkit.Eventually(t, func() bool {
			ticket, seqNo := s.next(t, "HOT")
			if seqNo == "H-000001" {
				require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
			} else {
				s.settle(t, "Confirm", ticket)
			}
			return retired()
		}, "it goes round and round")
		n := s.row(t, "HOT", "H-000001")
		require.Equal(t, int32(3), n.Life)
		require.Equal(t, int32(2), n.Replays)
		require.Equal(t, sequence.ReasonReplayCap, n.Reason)
		require.Equal(t, "OUTCOME_RESCUED", s.settle(t, "Confirm", "HOT~H-000001~3"), "its last holder may still come")
	})

	t.Run("Get tells the state of a number that was never handed out, too", func(t *testing.T) {
		s.bizType(t, "FRESH", "F-{seq:6}", confirmTimeout, safetyWindow)
		s.next(t, "FRESH")
		status, answer := s.call(t, "Get", `{"bizType":"FRESH","seqNo":"F-000009"}`)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "STATE_RESERVED", answer["number"].(map[string]any)["state"])
	})

	t.Run("Get tells its lives and the page of its run", func(t *testing.T) {
		status, answer := s.call(t, "Get", `{"bizType":"ABANDON","seqNo":"A-000001"}`)
		require.Equal(t, http.StatusOK, status)
		number := answer["number"].(map[string]any)
		require.Equal(t, "STATE_CONFIRMED", number["state"])
		require.Equal(t, "1", number["value"], "64-bit values are strings in JSON")
		require.Equal(t, "http://ui/namespaces/default/workflows/ABANDON~A-000001~2", answer["runUrl"])
		lives := answer["pastLives"].([]any)
		require.Len(t, lives, 1)
		require.Equal(t, "ABANDON~A-000001~1", lives[0].(map[string]any)["ticket"])
	})
	s.closure(t)
}

// awaitRun waits until the number's run exists.
func (s *stack) awaitRun(t *testing.T, ticket string) {
	t.Helper()
	testkit.Eventually(t, func() bool {
		_, err := s.client.DescribeWorkflow(t.Context(), ticket, "")
		return err == nil
	}, "%s has no run", ticket)
}

// awaitClosed waits until the number's run has completed.
func (s *stack) awaitClosed(t *testing.T, ticket string) {
	t.Helper()
	testkit.Eventually(t, func() bool {
		d, err := s.client.DescribeWorkflow(t.Context(), ticket, "")
		return err == nil && d.Status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	}, "the run of %s has not completed", ticket)
}

func (s *stack) events(t *testing.T, ticket string) int {
	t.Helper()
	return len(testkit.History(t, s.client, ticket).GetEvents())
}
