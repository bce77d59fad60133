package main

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// runs is activities.Runs over Temporal.
type runs struct {
	client    client.Client
	namespace string
	tracer    trace.Tracer
}

// Check wakes the number's run by the signal "check", or starts it. The request's ID is made of the
// ticket and the row's version, so that the server drops the repeats of later rounds; only the raw
// API lets it be chosen. A run that is started so goes on with the trace of its number.
func (r runs) Check(ctx context.Context, n sequence.Number) (open bool, err error) {
	ctx, span := telemetry.Follow(ctx, r.tracer, "check", n.Trace, trace.SpanContextFromContext(ctx))
	defer span.End()
	options := workflows.WakeOptions(n)
	request, err := r.request(options, n)
	if err != nil {
		return false, err
	}
	if n.Trace != "" { // else it is of no trace, and not of the patrol's
		if request.Header, err = header(ctx); err != nil {
			return false, err
		}
	}
	_, err = r.client.WorkflowService().SignalWithStartWorkflowExecution(ctx, request)
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &started) {
		return false, nil
	}
	return err == nil, err
}

// Open asks for the run by its workflow ID, the ticket.
func (r runs) Open(ctx context.Context, n sequence.Number) (bool, error) {
	return workflows.Open(ctx, r.client, n.Ticket().String())
}

// CompensationOpen asks for a Compensation by its workflow ID.
func (r runs) CompensationOpen(ctx context.Context, workflowID string) (bool, error) {
	return workflows.Open(ctx, r.client, workflowID)
}

// Commands reads the history of the run.
func (r runs) Commands(ctx context.Context, n sequence.Number) ([]activities.ToldCommand, error) {
	var commands []activities.ToldCommand
	events := r.client.GetWorkflowHistory(ctx, n.Ticket().String(), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		var gone *serviceerror.NotFound
		if errors.As(err, &gone) {
			return nil, nil // its history has gone, and with it what it may have been told
		}
		if err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", n.Ticket(), err)
		}
		if signal := event.GetWorkflowExecutionSignaledEventAttributes(); signal != nil {
			if c, ok := workflows.ReadCommand(signal.GetSignalName(), signal.GetInput()); ok {
				commands = append(commands, activities.ToldCommand{Command: c, At: event.GetEventTime().AsTime()})
			}
		}
	}
	return commands, nil
}

func (r runs) request(o client.StartWorkflowOptions, n sequence.Number) (*workflowservice.SignalWithStartWorkflowExecutionRequest, error) {
	data := converter.GetDefaultDataConverter()
	input, err := data.ToPayloads(workflows.Input(n))
	if err != nil {
		return nil, err
	}
	summary, err := data.ToPayload(o.StaticSummary)
	if err != nil {
		return nil, err
	}
	attributes, err := searchAttributes(o.TypedSearchAttributes)
	if err != nil {
		return nil, err
	}
	return &workflowservice.SignalWithStartWorkflowExecutionRequest{
		Namespace: r.namespace, WorkflowId: o.ID, Input: input, SignalName: workflows.SignalCheck, Identity: "lacuna-patrol",
		WorkflowType:          &commonpb.WorkflowType{Name: workflows.NumberLifecycleName},
		TaskQueue:             &taskqueuepb.TaskQueue{Name: o.TaskQueue},
		RequestId:             fmt.Sprintf("%s/%d", o.ID, n.Version),
		WorkflowIdReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		SearchAttributes:      attributes,
		UserMetadata:          &sdkpb.UserMetadata{Summary: summary},
	}, nil
}

// header is the trace of ctx as a workflow reads it.
func header(ctx context.Context) (*commonpb.Header, error) {
	carried := map[string]string{}
	telemetry.Propagator().Inject(ctx, propagation.MapCarrier(carried))
	payload, err := converter.GetDefaultDataConverter().ToPayload(carried)
	if err != nil {
		return nil, err
	}
	return &commonpb.Header{Fields: map[string]*commonpb.Payload{telemetry.HeaderKey: payload}}, nil
}

// searchAttributes spells keywords as the server reads them.
func searchAttributes(typed temporal.SearchAttributes) (*commonpb.SearchAttributes, error) {
	fields := map[string]*commonpb.Payload{}
	for key, value := range typed.GetUntypedValues() {
		payload, err := converter.GetDefaultDataConverter().ToPayload(value)
		if err != nil {
			return nil, err
		}
		payload.Metadata["type"] = []byte(key.GetValueType().String())
		fields[key.GetName()] = payload
	}
	return &commonpb.SearchAttributes{IndexedFields: fields}, nil
}
