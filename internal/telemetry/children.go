package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// children begins no traces: a statement or a command that belongs to no call is no span. Lease renewals and looks for
// work would otherwise be traces of one span each, more than there are of numbers.
type children struct {
	embedded.TracerProvider
	of trace.TracerProvider
}

func (c children) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return childTracer{of: c.of.Tracer(name, options...)}
}

type childTracer struct {
	embedded.Tracer
	of trace.Tracer
}

func (t childTracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, noop.Span{}
	}
	return t.of.Start(ctx, name, options...)
}
