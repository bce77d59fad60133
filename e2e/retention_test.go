package e2e

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// forget does what the end of the namespace's retention does to runs. It takes the server half a minute.
func (s *stack) forget(t *testing.T, tickets ...string) {
	t.Helper()
	for _, ticket := range tickets {
		_, err := s.client.WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: ticket},
		})
		require.NoError(t, err)
	}
	for _, ticket := range tickets {
		testkit.Within(t, 5*testkit.Patience, func() bool {
			_, err := s.client.DescribeWorkflow(t.Context(), ticket, "")
			var gone *serviceerror.NotFound
			return errors.As(err, &gone)
		}, "the run of %s is still there", ticket)
	}
}

// Answers come from the row, and are the same when Temporal has forgotten the run (C13, C65).
func TestWhatTemporalHasForgotten(t *testing.T) {
	s := newStack(t)
	s.put(t, `{"name":"OLD","format":"O-{seq:6}","confirmTimeout":"60s","safetyWindow":"1s"}`)
	_, door := s.doors(t)

	confirmed, confirmedNo := s.next(t, "OLD")
	require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", confirmed))
	dead, deadNo := s.next(t, "OLD")
	s.awaitRun(t, dead)
	require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", dead))
	s.awaitState(t, "OLD", deadNo, sequence.Replayable)
	decisions, err := s.ledger.Apply(t.Context(), []sequence.Command{{Kind: sequence.Bury, Ticket: mustTicket(t, dead), Cause: sequence.CausePoolAway, Reason: "long ago"}})
	require.NoError(t, err)
	require.Equal(t, sequence.OutcomeDead, decisions[0].Outcome)
	s.awaitClosed(t, confirmed)
	s.awaitClosed(t, dead)
	s.forget(t, confirmed, dead)

	require.Equal(t, "OUTCOME_ALREADY_CONFIRMED", s.settle(t, "Confirm", confirmed))
	require.Equal(t, "failed_precondition", s.settle(t, "Abandon", confirmed))
	_, err = door.Abandon(t.Context(), confirmed) // starts a run anew, which looks at the row
	require.NoError(t, err)
	s.awaitClosed(t, confirmed)
	require.Equal(t, sequence.Confirmed, s.row(t, "OLD", confirmedNo).State)
	require.Equal(t, "ISSUED", s.timeline(t, confirmed)[0]["what"])

	letter := s.operate(t, "ListDeadLetters", `{}`)["deadLetters"].([]any)[0].(map[string]any)
	for _, field := range []string{"bizType", "seqNo", "batchId", "ticket", "reason", "runUrl"} {
		require.NotEmpty(t, letter[field], field)
	}
	s.operate(t, "RequeueDeadLetters", `{"all":true,"actor":"mia"}`)
	s.awaitState(t, "OLD", deadNo, sequence.Replayable)
	s.closure(t)
}
