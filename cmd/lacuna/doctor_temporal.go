package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/lacuna-seq/lacuna/internal/startup"
	"github.com/lacuna-seq/lacuna/workflows"
)

// checkTemporal looks at Temporal where TEMPORAL_ADDRESS is set.
func checkTemporal(ctx context.Context, s *seen) []checked {
	t, err := dialTemporal(ctx)
	switch {
	case err != nil:
		return []checked{failure("temporal", err, "see whether Temporal lives, and the way to it; numbers are issued and settled meanwhile")}
	case t == nil:
		return []checked{{What: "temporal", Verdict: skipped, Seen: noTemporal}}
	}
	defer t.Close()
	if _, err := t.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: t.namespace}); err != nil {
		return []checked{failure("temporal", fmt.Errorf("namespace %s: %w", t.namespace, err), "set TEMPORAL_NAMESPACE to the one of the worker, or make it")}
	}
	return []checked{
		{What: "temporal", Verdict: ok, Seen: "namespace " + t.namespace + " answers"},
		t.checkAttributes(ctx), t.checkSchedule(ctx, s), t.checkPollers(ctx, workflows.LifecycleTaskQueue), t.checkPollers(ctx, workflows.PatrolTaskQueue),
	}
}

func (t *temporalServer) checkAttributes(ctx context.Context) checked {
	const what = "search attributes"
	missing, err := startup.MissingAttributes(ctx, t.Client, t.namespace, workflows.SearchAttributes())
	var denied *serviceerror.PermissionDenied
	switch {
	case errors.As(err, &denied):
		return checked{what, warning, "they may not be listed", "make sure that there are " + strings.Join(workflows.SearchAttributes(), ", ")}
	case err != nil:
		return failure(what, err, "")
	case len(missing) > 0:
		return checked{what, wrong, "missing: " + strings.Join(missing, ", "), startup.AddAttributes(t.namespace, missing)}
	}
	return checked{What: what, Verdict: ok, Seen: strings.Join(workflows.SearchAttributes(), ", ")}
}

// checkSchedule looks at the patrol's schedule, and reads Temporal's clock off it: its last round was before now, and
// its next one is after.
func (t *temporalServer) checkSchedule(ctx context.Context, s *seen) checked {
	const what = "schedule " + workflows.PatrolScheduleID
	before := time.Now()
	d, err := t.ScheduleClient().GetHandle(ctx, workflows.PatrolScheduleID).Describe(ctx)
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return checked{what, wrong, "there is none", "start a worker: it makes it"}
	}
	if err != nil {
		return failure(what, err, "")
	}
	if last := len(d.Info.RecentActions) - 1; last >= 0 && len(d.Info.NextActionTimes) > 0 && comes(d, s.patrolAge) {
		s.temporal = &span{time.Until(d.Info.RecentActions[last].ActualTime), d.Info.NextActionTimes[0].Sub(before)}
	}
	return scheduleCheck(what, d)
}

// comes reports whether the rounds come in their rhythm, by the ledger's clock. Where they have stopped, the next one
// stays in the past, and tells of no clock.
func comes(d *client.ScheduleDescription, age *time.Duration) bool {
	spec := d.Schedule.Spec
	return !paused(d) && age != nil && spec != nil && len(spec.Intervals) == 1 && *age <= 3*spec.Intervals[0].Every
}

func paused(d *client.ScheduleDescription) bool {
	return d.Schedule.State != nil && d.Schedule.State.Paused
}

func scheduleCheck(what string, d *client.ScheduleDescription) checked {
	if paused(d) {
		return checked{what, wrong, "paused: " + orDash(d.Schedule.State.Note), "temporal schedule toggle --unpause --schedule-id " + workflows.PatrolScheduleID}
	}
	every := "at times of its own"
	if spec := d.Schedule.Spec; spec != nil && len(spec.Intervals) == 1 {
		every = "every " + spec.Intervals[0].Every.String()
	}
	return checked{What: what, Verdict: ok, Seen: every}
}

func (t *temporalServer) checkPollers(ctx context.Context, queue string) checked {
	what := "workers on " + queue
	var counts []string
	for _, kind := range []struct {
		name string
		of   enumspb.TaskQueueType
	}{{"workflow", enumspb.TASK_QUEUE_TYPE_WORKFLOW}, {"activity", enumspb.TASK_QUEUE_TYPE_ACTIVITY}} {
		d, err := t.DescribeTaskQueue(ctx, queue, kind.of)
		if err != nil {
			return failure(what, err, "")
		}
		if len(d.GetPollers()) == 0 {
			return checked{what, wrong, "nobody asks for " + kind.name + " tasks", "start a worker"}
		}
		counts = append(counts, counted(len(d.GetPollers()), "poller")+" for "+kind.name+" tasks")
	}
	return checked{What: what, Verdict: ok, Seen: strings.Join(counts, ", ")}
}
