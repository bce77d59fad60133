package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/lacuna-seq/lacuna/workflows"
)

// The patrol's rhythm.
const (
	patrolEvery   = 5 * time.Second
	patrolTimeout = 2 * time.Minute
)

// schedulePatrol makes the schedule of the patrol where it is missing. Operators may pause it; no
// worker changes one that exists.
func schedulePatrol(ctx context.Context, c client.Client) error {
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:   workflows.PatrolScheduleID,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: patrolEvery}}},
		Action: &client.ScheduleWorkflowAction{
			ID: workflows.PatrolScheduleID, Workflow: workflows.PatrolName, TaskQueue: workflows.PatrolTaskQueue,
			WorkflowRunTimeout: patrolTimeout, StaticSummary: "recover what dead issuers held, wake what is overdue, push what the pool may have lost",
		},
		Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
	})
	if err != nil && !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("make the patrol's schedule: %w", err)
	}
	return nil
}
