package main

import (
	"context"
	"fmt"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// openRuns is drift.Runs over Temporal.
type openRuns struct{ client client.Client }

// runsPage is how many runs one answer of Temporal's list gives, its own most.
const runsPage = 1_000

// EachOpen reads Temporal's list. A run whose ID is no ticket was started by a foreign hand, and is left out.
func (r openRuns) EachOpen(ctx context.Context, bizType string, page func([]sequence.Ticket) error) error {
	request := &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: runsPage,
		Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running' AND %s = '%s'",
			workflows.NumberLifecycleName, workflows.AttributeBizType.GetName(), bizType),
	}
	for {
		list, err := r.client.ListWorkflow(ctx, request)
		if err != nil {
			return &sequence.UnavailableError{What: "list the open runs of " + bizType + " in Temporal", Cause: err}
		}
		tickets := make([]sequence.Ticket, 0, len(list.GetExecutions()))
		for _, run := range list.GetExecutions() {
			if t, err := sequence.ParseTicket(run.GetExecution().GetWorkflowId()); err == nil && t.BizType == bizType {
				tickets = append(tickets, t)
			}
		}
		if err := page(tickets); err != nil {
			return err
		}
		if request.NextPageToken = list.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return nil
		}
	}
}

// Open asks for the run itself.
func (r openRuns) Open(ctx context.Context, ticket sequence.Ticket) (bool, error) {
	open, err := workflows.Open(ctx, r.client, ticket.String())
	if err != nil {
		return false, &sequence.UnavailableError{What: "look for the run of " + ticket.String() + " in Temporal", Cause: err}
	}
	return open, nil
}
