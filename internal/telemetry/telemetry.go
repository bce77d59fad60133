package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Options say what a process is called and how it logs.
type Options struct {
	Service   string    // e.g. "lacuna-starter"
	LogLevel  string    // debug, info, warn or error
	LogFormat string    // text or json
	LogTo     io.Writer // os.Stderr by default
}

// Telemetry is a process's logger, tracer and meters.
type Telemetry struct {
	Log      *slog.Logger
	Tracers  trace.TracerProvider
	Meters   metric.MeterProvider
	Registry *prometheus.Registry

	traces   bool // they are exported
	shutdown []func(context.Context) error
}

// Start assembles a process's telemetry. Metrics are always collected, for the ops server to show.
// Traces are exported by OTLP only where the standard OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set; a collector that is away delays nothing and fails nothing.
func Start(ctx context.Context, o Options) (*Telemetry, error) {
	log, err := newLogger(o)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{Log: log, Tracers: noop.NewTracerProvider(), Registry: prometheus.NewRegistry()}
	t.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	about := resource.NewSchemaless(attribute.String("service.name", o.Service))
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(t.Registry), otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("telemetry: prometheus: %w", err)
	}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter), sdkmetric.WithResource(about))
	t.Meters, t.shutdown = meters, append(t.shutdown, meters.Shutdown)
	if collectorIsSet() {
		exporter, err := otlptracegrpc.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("telemetry: the trace exporter: %w", err)
		}
		tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
		t.traces, t.Tracers, t.shutdown = true, tracers, append(t.shutdown, tracers.Shutdown)
	}
	return t, nil
}

// SetGlobals makes these the providers of libraries that know only the global ones. A main calls
// it once.
func (t *Telemetry) SetGlobals() {
	slog.SetDefault(t.Log)
	otel.SetTracerProvider(t.Tracers)
	otel.SetMeterProvider(t.Meters)
	otel.SetTextMapPropagator(Propagator())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { t.Log.Debug("telemetry", "error", err) }))
}

// Propagator carries a trace from caller to called by the W3C headers.
func Propagator() propagation.TextMapPropagator {
	return propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
}

// Shutdown sends what is left, until ctx ends.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var errs []error
	for _, f := range t.shutdown {
		errs = append(errs, f(ctx))
	}
	return errors.Join(errs...)
}

func collectorIsSet() bool {
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

func newLogger(o Options) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.LogLevel)); err != nil {
		return nil, fmt.Errorf("telemetry: the log level: %w", err)
	}
	if o.LogTo == nil {
		o.LogTo = os.Stderr
	}
	var handler slog.Handler = slog.NewTextHandler(o.LogTo, &slog.HandlerOptions{Level: level})
	if o.LogFormat == "json" {
		handler = slog.NewJSONHandler(o.LogTo, &slog.HandlerOptions{Level: level})
	}
	return slog.New(traceHandler{handler}), nil
}

// traceHandler adds the trace of the context to every line.
type traceHandler struct{ slog.Handler }

func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String(KeyTraceID, span.TraceID().String()), slog.String(KeySpanID, span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs)}
}

func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name)}
}
