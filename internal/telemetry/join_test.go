package telemetry_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/lacuna-seq/lacuna/internal/telemetry"
)

const elsewhere = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func recording(t *testing.T) (trace.Tracer, func() tracetest.SpanStubs) {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	return sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test"), exporter.GetSpans
}

func TestAJoinedBatch(t *testing.T) {
	t.Run("is of the first traced caller's trace and linked with the others", func(t *testing.T) {
		tracer, spans := recording(t)
		first, firstSpan := tracer.Start(t.Context(), "first")
		second, secondSpan := tracer.Start(t.Context(), "second")
		remote := telemetry.InTrace(t.Context(), elsewhere)
		ctx, end := telemetry.Join(tracer, "batch")(context.Background(), []context.Context{t.Context(), first, second, remote})
		require.Equal(t, firstSpan.SpanContext().TraceID(), trace.SpanContextFromContext(ctx).TraceID())
		end(errors.New("refused"))
		secondSpan.End()
		batch, linked := spans()[0], spans()[1]
		require.Equal(t, "refused", batch.Status.Description)
		require.Len(t, batch.Links, 2)
		require.Equal(t, secondSpan.SpanContext().SpanID(), batch.Links[0].SpanContext.SpanID())
		require.Equal(t, elsewhere[3:35], batch.Links[1].SpanContext.TraceID().String())
		require.Equal(t, batch.SpanContext.SpanID(), linked.Links[0].SpanContext.SpanID(), "the other caller's span is linked to the batch")
	})
	t.Run("of a caller in another process is of its trace", func(t *testing.T) {
		tracer, _ := recording(t)
		ctx, end := telemetry.Join(tracer, "batch")(context.Background(), []context.Context{telemetry.InTrace(t.Context(), elsewhere)})
		end(nil)
		require.Equal(t, elsewhere[3:35], trace.SpanContextFromContext(ctx).TraceID().String())
	})
	t.Run("of callers without traces is no span", func(t *testing.T) {
		tracer, spans := recording(t)
		_, end := telemetry.Join(tracer, "batch")(context.Background(), []context.Context{t.Context()})
		end(nil)
		require.Empty(t, spans())
	})
}

func TestTraceOf(t *testing.T) {
	tracer, _ := recording(t)
	ctx, span := tracer.Start(telemetry.InTrace(t.Context(), elsewhere), "call")
	of := telemetry.TraceOf(ctx)
	require.Equal(t, elsewhere[:36]+span.SpanContext().SpanID().String()+"-01", of)
	require.Empty(t, telemetry.TraceOf(telemetry.InTrace(t.Context(), elsewhere)), "nothing is recorded here")
	require.Empty(t, telemetry.TraceOf(t.Context()))
	require.Equal(t, t.Context(), telemetry.InTrace(t.Context(), ""))
	require.False(t, trace.SpanContextFromContext(telemetry.InTrace(t.Context(), "nonsense")).IsValid())

	require.Zero(t, testing.AllocsPerRun(100, func() {
		telemetry.TraceOf(t.Context())
		telemetry.LinkTo(ctx, "")
	}), "a call that is not traced pays nothing")
}

func TestALifeThatIsNotTracedBelongsToItsCause(t *testing.T) {
	tracer, spans := recording(t)
	cause := trace.SpanContextFromContext(telemetry.InTrace(t.Context(), elsewhere))
	ctx, span := telemetry.Follow(t.Context(), tracer, "wake", "", cause)
	span.End()
	require.Empty(t, spans())
	require.Equal(t, cause.TraceID(), trace.SpanContextFromContext(ctx).TraceID())
}
