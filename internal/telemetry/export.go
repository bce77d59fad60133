package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// What is exported by OTLP, and where to, say the standard variables of OpenTelemetry:
//
//	OTEL_EXPORTER_OTLP_ENDPOINT                  both, or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and
//	                                             OTEL_EXPORTER_OTLP_METRICS_ENDPOINT; without one nothing is exported
//	OTEL_EXPORTER_OTLP_PROTOCOL                  grpc (the default) or http/protobuf; also _TRACES_ and _METRICS_PROTOCOL
//	OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG which calls without a trace of their own begin one: all by default
//	OTEL_METRIC_EXPORT_INTERVAL                  in milliseconds
//
// The exporters read the others, of headers, certificates and time limits, themselves.

const (
	tracesSignal  = "TRACES"
	metricsSignal = "METRICS"
)

// exports reports whether a signal has a collector.
func exports(signal string) bool {
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// overHTTP reads the protocol of a signal.
func overHTTP(signal string) (bool, error) {
	own := "OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL"
	switch protocol := cmp.Or(os.Getenv(own), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "grpc"); protocol {
	case "grpc":
		return false, nil
	case "http/protobuf":
		return true, nil
	default:
		return false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL or %s: %q is neither grpc nor http/protobuf", own, protocol)
	}
}

// spanExporter is nil where traces have no collector.
func spanExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	if !exports(tracesSignal) {
		return nil, nil
	}
	http, err := overHTTP(tracesSignal)
	if err != nil {
		return nil, err
	}
	if http {
		return otlptracehttp.New(ctx)
	}
	return otlptracegrpc.New(ctx)
}

// metricReader is nil where metrics have no collector.
func metricReader(ctx context.Context) (sdkmetric.Reader, error) {
	if !exports(metricsSignal) {
		return nil, nil
	}
	http, err := overHTTP(metricsSignal)
	if err != nil {
		return nil, err
	}
	var exporter sdkmetric.Exporter
	if http {
		exporter, err = otlpmetrichttp.New(ctx)
	} else {
		exporter, err = otlpmetricgrpc.New(ctx)
	}
	if err != nil {
		return nil, err
	}
	return sdkmetric.NewPeriodicReader(exporter), nil
}
