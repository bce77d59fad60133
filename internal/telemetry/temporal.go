package telemetry

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"

	"github.com/lacuna-seq/lacuna/workflows"
)

// HeaderKey is where Temporal's headers carry a trace, in all SDKs.
const HeaderKey = "_tracer-data"

// Temporal traces a client's calls, and the workflows and activities of workers made from it, and counts them. Where
// no traces are exported it adds nothing to the calls and the histories.
func (t *Telemetry) Temporal(o *client.Options) error {
	o.MetricsHandler = opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{Meter: t.Meters.Meter("go.temporal.io/sdk")})
	if !t.traces {
		return nil
	}
	tracer, err := opentelemetry.NewTracer(opentelemetry.TracerOptions{
		Tracer: t.Tracers.Tracer("go.temporal.io/sdk"), TextMapPropagator: Propagator(), HeaderKey: HeaderKey, SpanStarter: startSpan,
		AllowInvalidParentSpans: true, // a foreign hand's header must not fail a run
	})
	if err != nil {
		return fmt.Errorf("telemetry: Temporal's interceptor: %w", err)
	}
	o.Interceptors = append(o.Interceptors, interceptor.NewTracingInterceptor(namingTracer{tracer}))
	return nil
}

// startSpan begins a trace with a round of the patrol only: a lifecycle is traced where the call is that began it.
func startSpan(ctx context.Context, tracer trace.Tracer, name string, options ...trace.SpanStartOption) trace.Span {
	if !strings.HasSuffix(name, ":"+workflows.PatrolName) {
		tracer = childTracer{of: tracer}
	}
	_, span := tracer.Start(ctx, name, options...)
	return span
}

// namingTracer gives the lines of workflows and activities the names of this package.
type namingTracer struct{ interceptor.Tracer }

// GetLogger adds the trace of a span that is recorded.
func (t namingTracer) GetLogger(to log.Logger, of interceptor.TracerSpanRef) log.Logger {
	span, ok := of.(interface{ SpanContext() trace.SpanContext })
	if !ok || !span.SpanContext().IsValid() {
		return to
	}
	return log.With(to, KeyTraceID, span.SpanContext().TraceID().String(), KeySpanID, span.SpanContext().SpanID().String())
}
