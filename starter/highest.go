package main

import (
	"context"
	"fmt"
	"slices"
	"sort"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// highest asks Temporal for the highest value of a period above a given one that has a run, open or closed: seq nos of
// one period have the order of their values, so some 20 questions whether there is a run above find it. found is
// false where there is none. Numbers without a run of their own, and runs that the namespace has forgotten, it
// does not know.
func (r openRuns) highest(ctx context.Context, b sequence.BizType, period string, above int64) (value int64, found bool, err error) {
	// The distance to a value above which there is no run doubles; then the place in between is halved.
	width := int64(1)
	most := b.Format.Max()
	for above+width < most {
		has, err := r.hasRun(ctx, b, period, above+width)
		if err != nil {
			return 0, false, err
		}
		if !has {
			break
		}
		width = min(2*width, most-above)
	}
	n := sort.Search(int(min(width, most-above)), func(i int) bool {
		if err != nil {
			return true
		}
		var has bool
		has, err = r.hasRun(ctx, b, period, above+int64(i)+1)
		return !has
	})
	return above + int64(n), n > 0, err
}

// hasRun reports whether a number of the period at or above the value has a run.
func (r openRuns) hasRun(ctx context.Context, b sequence.BizType, period string, value int64) (bool, error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: 1000,
		Query: fmt.Sprintf("WorkflowType = '%s' AND %s = '%s' AND %s >= '%s' AND %s <= '%s'", workflows.NumberLifecycleName,
			workflows.AttributeBizType.GetName(), b.Name, workflows.AttributeSeqNo.GetName(), b.Format.Print(period, value),
			workflows.AttributeSeqNo.GetName(), b.Format.Print(period, b.Format.Max())),
	}
	for {
		list, err := r.client.ListWorkflow(ctx, request)
		if err != nil {
			return false, &sequence.UnavailableError{What: "list the runs of " + b.Name + " in Temporal", Cause: err}
		}
		// A format that has its date behind its digits mixes periods in the order of the text: those of others may come first.
		if slices.ContainsFunc(list.GetExecutions(), func(run *workflowpb.WorkflowExecutionInfo) bool {
			ticket, err := sequence.ParseTicket(run.GetExecution().GetWorkflowId())
			if err != nil {
				return false
			}
			of, v, err := b.Format.Parse(ticket.SeqNo)
			return err == nil && of == period && v >= value
		}) {
			return true, nil
		}
		if request.NextPageToken = list.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return false, nil
		}
	}
}
