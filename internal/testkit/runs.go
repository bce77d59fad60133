package testkit

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// History reads all events of the latest run of a workflow.
func History(t testing.TB, c client.Client, workflowID string) *historypb.History {
	t.Helper()
	history := &historypb.History{}
	for it := c.GetWorkflowHistory(t.Context(), workflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		event, err := it.Next()
		require.NoError(t, err)
		history.Events = append(history.Events, event)
	}
	return history
}

// ResetPoint is where a run is reset to: as the Temporal UI offers it.
type ResetPoint int8

// The workflow tasks that a run can be reset to.
const (
	FirstTask ResetPoint = iota
	LastTask
)

// Reset does what the button Reset of the Temporal UI does to the latest run of a workflow.
func Reset(t testing.TB, c client.Client, workflowID string, to ResetPoint) {
	t.Helper()
	var task int64
	for _, e := range History(t, c, workflowID).GetEvents() {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED && (task == 0 || to == LastTask) {
			task = e.GetEventId()
		}
	}
	d, err := c.DescribeWorkflow(t.Context(), workflowID, "")
	require.NoError(t, err)
	_, err = c.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: d.WorkflowExecution.RunID},
		Reason: "Reset from the UI", RequestId: uuid.NewString(), WorkflowTaskFinishEventId: task,
	})
	require.NoError(t, err)
}
