package e2e

import (
	"context"
	"encoding/hex"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metricscollector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracescollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracespb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// collector is an OTLP collector that keeps what it is sent.
type collector struct {
	tracescollector.UnimplementedTraceServiceServer
	metricscollector.UnimplementedMetricsServiceServer

	address string

	mu      sync.Mutex
	spans   []span
	metrics map[string]bool // by service and name
}

// span is what the stories ask of one.
type span struct {
	trace, id, parent string
	name              string // with its service before it
	links             []string
	attributes        map[string]string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &collector{address: "http://" + listener.Addr().String(), metrics: map[string]bool{}}
	server := grpc.NewServer()
	tracescollector.RegisterTraceServiceServer(server, c)
	metricscollector.RegisterMetricsServiceServer(server, metricsOf{collector: c})
	go server.Serve(listener) //nolint:errcheck // it ends with the test
	t.Cleanup(server.Stop)
	return c
}

// env makes programs send to it, soon.
func (c *collector) env() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.address, "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_METRIC_EXPORT_INTERVAL=500"}
}

// Export takes spans.
func (c *collector) Export(_ context.Context, r *tracescollector.ExportTraceServiceRequest) (*tracescollector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range r.GetResourceSpans() {
		service := texts(resource.GetResource().GetAttributes())["service.name"]
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, spanOf(service, s))
			}
		}
	}
	return &tracescollector.ExportTraceServiceResponse{}, nil
}

func spanOf(service string, s *tracespb.Span) span {
	one := span{
		trace: hex.EncodeToString(s.GetTraceId()), id: hex.EncodeToString(s.GetSpanId()), parent: hex.EncodeToString(s.GetParentSpanId()),
		name: service + " " + s.GetName(), attributes: texts(s.GetAttributes()),
	}
	for _, l := range s.GetLinks() {
		one.links = append(one.links, hex.EncodeToString(l.GetTraceId()))
	}
	return one
}

// metricsOf takes metrics: both services call their method Export.
type metricsOf struct {
	metricscollector.UnimplementedMetricsServiceServer
	collector *collector
}

func (m metricsOf) Export(_ context.Context, r *metricscollector.ExportMetricsServiceRequest) (*metricscollector.ExportMetricsServiceResponse, error) {
	m.collector.mu.Lock()
	defer m.collector.mu.Unlock()
	for _, resource := range r.GetResourceMetrics() {
		service := texts(resource.GetResource().GetAttributes())["service.name"]
		for _, scope := range resource.GetScopeMetrics() {
			for _, metric := range scope.GetMetrics() {
				m.collector.metrics[service+" "+metric.GetName()] = true
			}
		}
	}
	return &metricscollector.ExportMetricsServiceResponse{}, nil
}

func texts(attributes []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range attributes {
		all[a.GetKey()] = a.GetValue().GetStringValue()
	}
	return all
}

// find gives the spans of the trace whose name begins so; of any trace where that is empty.
func (c *collector) find(trace, prefix string) (found []span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if (trace == "" || s.trace == trace) && strings.HasPrefix(s.name, prefix) {
			found = append(found, s)
		}
	}
	return found
}

// linked reports whether a span of the trace, whose name begins so, has a link to the other trace.
func (c *collector) linked(trace, prefix, to string) bool {
	return slices.ContainsFunc(c.find(trace, prefix), func(s span) bool { return slices.Contains(s.links, to) })
}

// descends reports whether the span is below one whose name begins so, through any number of others.
func (c *collector) descends(s span, from string) bool {
	for s.parent != "" {
		parents := slices.DeleteFunc(c.find(s.trace, ""), func(p span) bool { return p.id != s.parent })
		if len(parents) == 0 {
			return false
		}
		if s = parents[0]; strings.HasPrefix(s.name, from) {
			return true
		}
	}
	return false
}

// received reports whether the service has sent the metric.
func (c *collector) received(service, metric string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.metrics[service+" "+metric]
}
