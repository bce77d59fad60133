package workflows

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// Open reports whether there is a run of the workflow ID that is not closed. It asks for the run itself, which is
// exact where Temporal's lists run behind; a run whose retention is over is none.
func Open(ctx context.Context, c client.Client, workflowID string) (bool, error) {
	described, err := c.DescribeWorkflow(ctx, workflowID, "")
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the run of %s in Temporal: %w", workflowID, err)
	}
	return described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}
