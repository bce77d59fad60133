package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// A number's life is one trace, that of the call which handed it out. It travels with the number as a W3C
// traceparent, since the life goes on in other processes and long after the call.

// TraceOf is the traceparent of the span in ctx; empty where nothing is recorded.
func TraceOf(ctx context.Context) string {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() || !span.SpanContext().IsSampled() {
		return ""
	}
	var c carrier
	propagation.TraceContext{}.Inject(ctx, &c)
	return string(c)
}

// InTrace makes what is done with ctx part of a traceparent's trace. ctx stays as it is where that is empty or malformed.
func InTrace(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	c := carrier(traceparent)
	return propagation.TraceContext{}.Extract(ctx, &c)
}

// LinkTo links the span in ctx to a traceparent's, unless they are of one trace.
func LinkTo(ctx context.Context, traceparent string) {
	if traceparent == "" {
		return
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	other := trace.SpanContextFromContext(InTrace(context.Background(), traceparent))
	if other.IsValid() && other.TraceID() != span.SpanContext().TraceID() {
		span.AddLink(trace.Link{SpanContext: other})
	}
}

// Follow begins a span of a number's life, with a link to what caused it. Where the life is not traced, what is done
// belongs to the trace of its cause.
func Follow(ctx context.Context, tracer trace.Tracer, name, traceparent string, cause trace.SpanContext, about ...trace.SpanStartOption) (context.Context, trace.Span) {
	if traceparent == "" {
		ctx = trace.ContextWithRemoteSpanContext(ctx, cause)
		return ctx, trace.SpanFromContext(ctx)
	}
	if cause.IsValid() {
		about = append(about, trace.WithLinks(trace.Link{SpanContext: cause}))
	}
	return tracer.Start(InTrace(ctx, traceparent), name, about...)
}

// carrier is a propagation.TextMapCarrier of a traceparent alone.
type carrier string

const traceparentKey = "traceparent"

func (c *carrier) Get(key string) string {
	if key == traceparentKey {
		return string(*c)
	}
	return ""
}

func (c *carrier) Set(key, value string) {
	if key == traceparentKey {
		*c = carrier(value)
	}
}

func (c *carrier) Keys() []string { return []string{traceparentKey} }
