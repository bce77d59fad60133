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

// patrolTimeout ends a round that hangs.
const patrolTimeout = 2 * time.Minute

// schedulePatrol makes the schedule of the patrol where it is missing, and gives one that exists the rhythm. A
// schedule that an operator has paused stays so.
func schedulePatrol(ctx context.Context, c client.Client, every time.Duration) error {
	rhythm := client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: every}}}
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:   workflows.PatrolScheduleID,
		Spec: rhythm,
		Action: &client.ScheduleWorkflowAction{
			ID: workflows.PatrolScheduleID, Workflow: workflows.PatrolName, TaskQueue: workflows.PatrolTaskQueue,
			WorkflowRunTimeout: patrolTimeout, StaticSummary: "recover what dead issuers held, wake what is overdue, push what the pool may have lost",
		},
		Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
	})
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return setRhythm(ctx, c, rhythm)
	}
	if err != nil {
		return fmt.Errorf("make the patrol's schedule: %w", err)
	}
	return nil
}

func setRhythm(ctx context.Context, c client.Client, rhythm client.ScheduleSpec) error {
	err := c.ScheduleClient().GetHandle(ctx, workflows.PatrolScheduleID).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			s := in.Description.Schedule
			if len(s.Spec.Intervals) == 1 && s.Spec.Intervals[0].Every == rhythm.Intervals[0].Every {
				return nil, temporal.ErrSkipScheduleUpdate
			}
			s.Spec = &rhythm
			return &client.ScheduleUpdate{Schedule: &s}, nil
		},
	})
	if err != nil {
		return fmt.Errorf("set the rhythm of the patrol's schedule: %w", err)
	}
	return nil
}
