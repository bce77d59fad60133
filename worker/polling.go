package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// polled is how long ago Temporal must have seen a worker ask for work: it lets each question wait for a minute.
const polled = 90 * time.Second

// newIdentity names this process to Temporal, and no other one: not the one before it in the same container either.
func newIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("lacuna-worker@%s/%s", host, uuid.NewString()[:8])
}

// polling is a check of readiness: whether Temporal has seen this very process ask for the work of a queue. A process
// that lives and reaches Temporal may still do nothing: it was stopped, may not poll, or polls where no work is.
type polling struct {
	client    client.Client
	namespace string
	identity  string
	within    time.Duration
}

// of is the check of a queue.
func (p polling) of(queue string) func(context.Context) error {
	return func(ctx context.Context) error { return p.ask(ctx, queue) }
}

// ask looks for the process among those that poll for workflows and for activities.
func (p polling) ask(ctx context.Context, queue string) error {
	for kind, name := range map[enumspb.TaskQueueType]string{
		enumspb.TASK_QUEUE_TYPE_WORKFLOW: "workflows", enumspb.TASK_QUEUE_TYPE_ACTIVITY: "activities",
	} {
		described, err := p.client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: p.namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, TaskQueueType: kind,
		})
		if err != nil {
			return fmt.Errorf("ask who polls %s for %s: %w", queue, name, err)
		}
		if !p.among(described.GetPollers()) {
			return fmt.Errorf("for %s Temporal has not seen this process (%s) ask for %s of the task queue %s in namespace %s: see in the worker's log why it does not poll",
				p.within, p.identity, name, queue, p.namespace)
		}
	}
	return nil
}

func (p polling) among(pollers []*taskqueuepb.PollerInfo) bool {
	for _, poller := range pollers {
		if poller.GetIdentity() == p.identity && time.Since(poller.GetLastAccessTime().AsTime()) < p.within {
			return true
		}
	}
	return false
}
