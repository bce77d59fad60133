package issuer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/lacuna-seq/lacuna/internal/courier"
	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// The queues to Temporal. A start takes the server milliseconds of CPU, so a few at a time reach
// its rate; the capacity holds a rush of 20 minutes at the rate of a small server.
var (
	startOptions = courier.Options{Capacity: 65_536, Workers: 8}
	wakeOptions  = courier.Options{Capacity: 65_536, Workers: 8}
)

// temporalTimeout ends one call to Temporal.
const temporalTimeout = 5 * time.Second

// start is a lifecycle that is to be started.
type start struct {
	number sequence.Number
	due    time.Time // the number's deadline by this process's clock
}

// wake is a lifecycle that is to look at its row.
type wake struct {
	number sequence.Number
	kind   sequence.Kind
	bizKey string
	// noRun: it has none, or none that is to be woken.
	noRun bool
	// rescued: the number may be in the pool, as pool says.
	rescued bool
	pool    sequence.PoolEntry
	// cause is the call that settled it.
	cause trace.SpanContext
}

// LogValue is what a line about the start says of it.
func (s start) LogValue() slog.Value { return telemetry.AboutNumber(s.number) }

// LogValue is what a line about the wake says of it.
func (w wake) LogValue() slog.Value { return telemetry.AboutNumber(w.number) }

func (i *Issuer) deliverStart(ctx context.Context, s start) error {
	ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	err := i.runs.Start(telemetry.InTrace(ctx, s.number.Trace), s.number, max(0, time.Until(s.due)))
	i.metrics.delivered("start", err)
	return err
}

// deliverWake also takes a rescued number out of the pool, which only saves a claim that would
// find the row confirmed.
func (i *Issuer) deliverWake(ctx context.Context, w wake) error {
	ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	if w.rescued {
		if err := i.pool.Remove(ctx, []sequence.PoolEntry{w.pool}); err != nil {
			i.log.DebugContext(ctx, "a rescued number may still be in the pool", "ticket", w.number.Ticket().String(), "error", err)
		}
	}
	if w.noRun {
		return nil
	}
	ctx, span := telemetry.Follow(ctx, i.tracer, "wake", w.number.Trace, w.cause)
	defer span.End()
	err := i.runs.Wake(ctx, w.number, w.kind, w.bizKey)
	if errors.Is(err, ErrRunClosed) {
		err = nil
	}
	i.metrics.delivered("wake", err)
	return err
}

// Temporal is Lifecycles over a Temporal client.
type Temporal struct {
	Client    client.Client
	Namespace string
}

// Start starts the run asleep (StartDelay), so that no workflow task is spent on a number that is
// confirmed in time but the one that closes it.
func (t Temporal) Start(ctx context.Context, n sequence.Number, left time.Duration) error {
	_, err := t.Client.ExecuteWorkflow(ctx, workflows.StartOptions(n, left), workflows.NumberLifecycleName, workflows.Input(n))
	if isAlreadyStarted(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("start the lifecycle of %s: %w", n.Ticket(), err)
	}
	return nil
}

// Wake sends the signal of the command by SignalWithStart.
func (t Temporal) Wake(ctx context.Context, n sequence.Number, kind sequence.Kind, bizKey string) error {
	signal := workflows.SignalAbandon
	if kind == sequence.Confirm {
		signal = workflows.SignalConfirm
	}
	_, err := t.Client.SignalWithStartWorkflow(ctx, n.Ticket().String(), signal, workflows.CommandSignal{BizKey: bizKey},
		workflows.WakeOptions(n), workflows.NumberLifecycleName, workflows.Input(n))
	if isAlreadyStarted(err) {
		return ErrRunClosed
	}
	if err != nil {
		return fmt.Errorf("wake the lifecycle of %s: %w", n.Ticket(), err)
	}
	return nil
}

// polled is how long ago Temporal must have seen a worker ask for tasks: it lets each question wait for a minute.
const polled = 90 * time.Second

// Backlog asks for the queue of workflow tasks: each step of a run begins with one.
func (t Temporal) Backlog(ctx context.Context) (Backlog, error) {
	described, err := t.Client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: t.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: workflows.LifecycleTaskQueue},
		TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW, ReportStats: true,
	})
	if err != nil {
		return Backlog{}, fmt.Errorf("ask for the backlog of the lifecycles: %w", err)
	}
	b := Backlog{Age: described.GetStats().GetApproximateBacklogAge().AsDuration()}
	for _, p := range described.GetPollers() {
		if time.Since(p.GetLastAccessTime().AsTime()) < polled {
			b.Workers++
		}
	}
	return b, nil
}

func isAlreadyStarted(err error) bool {
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	return errors.As(err, &started)
}
