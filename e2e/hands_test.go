package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// What the buttons of the Temporal UI do to a number; docs/operations.md says it to operators.
func TestOperatorsHands(t *testing.T) {
	s := newStack(t)
	s.put(t, `{"name":"HANDS","format":"H-{seq:6}","confirmTimeout":"60s","safetyWindow":"2s"}`)
	take := func(t *testing.T) (ticket, seqNo string) {
		t.Helper()
		ticket, seqNo = s.next(t, "HANDS")
		s.awaitRun(t, ticket)
		return ticket, seqNo
	}
	status := func(ticket string) enumspb.WorkflowExecutionStatus {
		d, err := s.client.DescribeWorkflow(t.Context(), ticket, "")
		require.NoError(t, err)
		return d.Status
	}
	t.Run("Cancel keeps a number out of the pool, until somebody sends it back", func(t *testing.T) {
		ticket, seqNo := take(t)
		require.NoError(t, s.client.CancelWorkflow(t.Context(), ticket, ""))
		// A run that sleeps out its start delay reads it when it wakes.
		_, err := s.client.SignalWithStartWorkflow(t.Context(), ticket, workflows.SignalCheck, nil, workflows.WakeOptions(s.row(t, "HANDS", seqNo)),
			workflows.NumberLifecycleName, workflows.LifecycleInput{Ticket: ticket})
		require.NoError(t, err)
		require.Equal(t, sequence.ReasonCancelled, s.awaitState(t, "HANDS", seqNo, sequence.Dead).Reason)
		testkit.Eventually(t, func() bool { return status(ticket) == enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED }, "the run does not close")
		s.operate(t, "RequeueDeadLetters", `{"filter":{"tickets":["`+ticket+`"]},"actor":"mia"}`)
		n := s.row(t, "HANDS", seqNo)
		require.Equal(t, sequence.Abandoned, n.State, "it goes through a full window, since it never had one")
		s.awaitState(t, "HANDS", seqNo, sequence.Replayable)
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, status(ticket), "its own run stays closed")
	})
	t.Run("Cancel comes too late for a confirmed number", func(t *testing.T) {
		ticket, seqNo := take(t)
		require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", ticket))
		_ = s.client.CancelWorkflow(t.Context(), ticket, "") // the run may have closed
		s.awaitClosed(t, ticket)
		require.Equal(t, sequence.Confirmed, s.row(t, "HANDS", seqNo).State)
	})
	t.Run("Reset to the first task sends a dead number back", func(t *testing.T) {
		ticket, seqNo := take(t)
		_, err := s.client.SignalWithStartWorkflow(t.Context(), ticket, workflows.SignalCheck, nil, workflows.WakeOptions(s.row(t, "HANDS", seqNo)),
			workflows.NumberLifecycleName, workflows.LifecycleInput{Ticket: ticket})
		require.NoError(t, err)
		require.NoError(t, s.client.CancelWorkflow(t.Context(), ticket, ""))
		s.awaitState(t, "HANDS", seqNo, sequence.Dead)
		testkit.Eventually(t, func() bool { return status(ticket) == enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED }, "the run does not close")
		testkit.Reset(t, s.client, ticket, testkit.FirstTask)
		s.awaitState(t, "HANDS", seqNo, sequence.Replayable)
		entries := s.timeline(t, ticket)
		var actors []any
		for _, e := range entries {
			if e["what"] == "REQUEUED" && e["ticket"] == ticket { // the number may be one of the story before
				actors = append(actors, e["actor"])
			}
		}
		require.Equal(t, []any{workflows.ResetActor}, actors)
	})
	t.Run("Reset of a number that was issued again touches only its own life", func(t *testing.T) { // C11
		ticket, seqNo := take(t)
		require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
		s.awaitState(t, "HANDS", seqNo, sequence.Replayable)
		var again string
		testkit.Eventually(t, func() bool {
			next, no := s.next(t, "HANDS")
			if no == seqNo {
				again = next
			}
			return again != ""
		}, "it is not issued again")
		testkit.Eventually(t, func() bool { return s.row(t, "HANDS", seqNo).Life == 2 }, "its life is not recorded")
		before := s.row(t, "HANDS", seqNo)
		testkit.Reset(t, s.client, ticket, testkit.FirstTask)
		testkit.Eventually(t, func() bool { return status(ticket) == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED }, "the reset run does not close")
		require.Equal(t, before, s.row(t, "HANDS", seqNo))
		require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", again))
	})
	t.Run("a signal typed by hand is read at the next wake", func(t *testing.T) {
		ticket, seqNo := take(t)
		require.NoError(t, s.client.SignalWorkflow(t.Context(), ticket, "", workflows.SignalConfirm, nil))
		require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket), "it was not read yet")
		s.awaitState(t, "HANDS", seqNo, sequence.Confirmed)
	})
	t.Run("pausing the patrol stops nobody's life", func(t *testing.T) {
		schedule := s.client.ScheduleClient().GetHandle(t.Context(), workflows.PatrolScheduleID)
		require.NoError(t, schedule.Pause(t.Context(), client.SchedulePauseOptions{Note: "a test"}))
		ticket, seqNo := take(t)
		require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
		s.awaitState(t, "HANDS", seqNo, sequence.Replayable)
		require.NoError(t, schedule.Unpause(t.Context(), client.ScheduleUnpauseOptions{}))
	})
	s.closure(t)
}
