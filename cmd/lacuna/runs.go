package main

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/lacuna-seq/lacuna/workflows"
)

// failsAfter is how many attempts of a workflow task are more than a hiccup.
const failsAfter = 3

// runSeen is what the run of a number does.
type runSeen struct {
	words  string
	fails  bool // its workflow task fails again and again
	closed bool
}

// look asks for the run of a life by its ticket.
func (t *temporalServer) look(ctx context.Context, ticket string) (runSeen, error) {
	d, err := t.DescribeWorkflow(ctx, ticket, "")
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return runSeen{words: "it has no run: it is not tracked, or its run is gone", closed: true}, nil
	}
	if err != nil {
		return runSeen{}, fmt.Errorf("look for the run of %s: %w", ticket, err)
	}
	return seenOf(d.RawResponse), nil
}

func seenOf(d *workflowservice.DescribeWorkflowExecutionResponse) runSeen {
	status := d.GetWorkflowExecutionInfo().GetStatus()
	if status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return runSeen{words: "its run is closed (" + status.String() + ") while the row waits", closed: true}
	}
	if n := d.GetPendingWorkflowTask().GetAttempt(); n >= failsAfter {
		return runSeen{words: fmt.Sprintf("its run's workflow task fails, attempt %d", n), fails: true}
	}
	return runSeen{words: "its run is open"}
}

// errNoReports is a server that does not say which runs fail, as of before 1.30.
var errNoReports = errors.New("runs that fail before their number is overdue: this Temporal server has no TemporalReportedProblems")

// failing lists runs that Temporal itself reports for failing workflow tasks, at most limit.
func (t *temporalServer) failing(ctx context.Context, bizType string, limit int) (ids []string, err error) {
	query := `ExecutionStatus = "Running" AND TemporalReportedProblems IN ("category=WorkflowTaskFailed", "category=WorkflowTaskTimedOut")`
	if bizType != "" {
		query += fmt.Sprintf(" AND %s = %q", workflows.AttributeBizType.GetName(), bizType)
	}
	page, err := t.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: t.namespace, Query: query, PageSize: int32(max(1, min(limit, 1000)))}) //nolint:gosec // at most 1,000
	var unknown *serviceerror.InvalidArgument
	if errors.As(err, &unknown) {
		return nil, errNoReports
	}
	if err != nil {
		return nil, fmt.Errorf("list the runs that fail: %w", err)
	}
	for _, e := range page.GetExecutions() {
		ids = append(ids, e.GetExecution().GetWorkflowId())
	}
	return ids, nil
}
