package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

func TestStuckNamesWhatNeedsAHand(t *testing.T) {
	f := deadOrders(7)
	f.status = healthy()
	f.status.PatrolAge = durationpb.New(5 * time.Minute)
	f.pages = []*lacunav1.ListNumbersResponse{{Numbers: []*lacunav1.Number{{
		BizType: "ORDER", SeqNo: "A-000002", Life: 1, Ticket: "ORDER~A-000002~1", State: lacunav1.State_STATE_ABANDONED.Enum(), Deadline: at("10:00:00"),
	}}}}
	out, err := f.lacuna(t, "stuck")
	require.ErrorIs(t, err, errFindings)
	require.Regexp(t, `patrol +lacuna-patrol +last through 5m0s ago`, out)
	require.Regexp(t, `dead +7 of ORDER +POOL_AWAY +repair, then lacuna dead requeue --biz-type ORDER --cause POOL_AWAY +docs/operations.md#dead_letter`, out)
	require.Regexp(t, `overdue +ORDER~A-000002~1 +abandoned, due at 2026-12-01T10:00:00.000Z +lacuna doctor`, out)
	require.Contains(t, out, "not looked at: runs in Temporal (TEMPORAL_ADDRESS is not set)")
	require.Equal(t, time.Minute, last[*lacunav1.ListNumbersRequest](t, f).GetOverdueFor().AsDuration())

	out, err = (&fake{status: healthy()}).lacuna(t, "stuck")
	require.NoError(t, err)
	require.Contains(t, out, "nothing needs a hand\n")

	_, err = (&fake{status: &lacunav1.GetStatusResponse{Away: "the ledger is away"}}).lacuna(t, "stuck")
	require.ErrorContains(t, err, "the ledger is away")
	require.Equal(t, exitFailed, exitCode(err))
}

func TestStuckSaysWhatARunDoes(t *testing.T) {
	run := func(status enumspb.WorkflowExecutionStatus, attempt int32) *workflowservice.DescribeWorkflowExecutionResponse {
		d := &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status}}
		if attempt > 0 {
			d.PendingWorkflowTask = &workflowpb.PendingWorkflowTaskInfo{Attempt: attempt}
		}
		return d
	}
	c := stuckCommand{UI: "http://ui"}
	n := &lacunav1.Number{Ticket: "ORDER~A-1~1", State: lacunav1.State_STATE_ALLOCATED.Enum(), Deadline: at("10:00:00")}
	runs := &temporalServer{namespace: "default"}

	s := c.overdueStuck(n, seenOf(run(enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, 0)), runs)
	require.Contains(t, s.Why, "its run is closed (Terminated) while the row waits")
	require.Contains(t, s.Do, "Compensation")
	s = c.overdueStuck(n, seenOf(run(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, 9)), runs)
	require.Contains(t, s.Why, "attempt 9")
	require.Contains(t, s.Do, "Reset to the last workflow task: http://ui/namespaces/default/workflows/ORDER~A-1~1")
	s = c.overdueStuck(n, seenOf(run(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, 1)), runs)
	require.Contains(t, s.Why, "its run is open")
	c.UI = ""
	require.Equal(t, "temporal workflow describe --namespace default --workflow-id 'ORDER~A-1~1'", c.page("ORDER~A-1~1", runs))
}
