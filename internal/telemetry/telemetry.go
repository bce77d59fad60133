package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
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

// Start assembles a process's telemetry. Metrics are always collected, for the ops server to show. Metrics and traces
// are exported by OTLP where a collector is set (see export.go); one that is away delays nothing and fails nothing.
func Start(ctx context.Context, o Options) (*Telemetry, error) {
	log, err := newLogger(o)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{Log: log, Tracers: noop.NewTracerProvider(), Registry: prometheus.NewRegistry()}
	t.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics, metricsErr := metricReader(ctx)
	spans, spansErr := spanExporter(ctx)
	if err := errors.Join(metricsErr, spansErr); err != nil {
		return nil, fmt.Errorf("telemetry: export by OTLP: %w", err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", o.Service),
		attribute.String("service.instance.id", uuid.NewString())) // what two processes count is not one series
	if err := t.startMetrics(metrics, about); err != nil {
		return nil, err
	}
	if spans != nil {
		tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans), sdktrace.WithResource(about))
		t.traces, t.Tracers, t.shutdown = true, tracers, append(t.shutdown, tracers.Shutdown)
	}
	return t, nil
}

// startMetrics shows metrics to the ops server, and sends them to the reader too, if it is not nil.
func (t *Telemetry) startMetrics(sent sdkmetric.Reader, about *resource.Resource) error {
	shown, err := otelprometheus.New(otelprometheus.WithRegisterer(t.Registry), otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	if err != nil {
		return fmt.Errorf("telemetry: prometheus: %w", err)
	}
	options := []sdkmetric.Option{sdkmetric.WithReader(shown), sdkmetric.WithResource(about)}
	if sent != nil {
		options = append(options, sdkmetric.WithReader(sent))
	}
	meters := sdkmetric.NewMeterProvider(options...)
	t.Meters, t.shutdown = meters, append(t.shutdown, meters.Shutdown)
	return nil
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
