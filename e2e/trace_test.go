package e2e

import (
	"context"
	"encoding/hex"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// spans is a collector that keeps what it is sent: the names of the spans of each trace, with the
// service before them.
type spans struct {
	collector.UnimplementedTraceServiceServer

	mu     sync.Mutex
	traces map[string][]string
}

func (s *spans) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range r.GetResourceSpans() {
		var service string
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				id := hex.EncodeToString(span.GetTraceId())
				s.traces[id] = append(s.traces[id], service+" "+span.GetName())
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// has reports whether a trace (of any id where it is empty) has spans that begin with all of these.
func (s *spans) has(id string, prefixes ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for trace, names := range s.traces {
		if id != "" && trace != id {
			continue
		}
		all := true
		for _, prefix := range prefixes {
			found := false
			for _, name := range names {
				found = found || strings.HasPrefix(name, prefix)
			}
			all = all && found
		}
		if all {
			return true
		}
	}
	return false
}

func TestTraces(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	received := &spans{traces: map[string][]string{}}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, received)
	go server.Serve(listener) //nolint:errcheck // it ends with the test
	t.Cleanup(server.Stop)
	s := newStack(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+listener.Addr().String(), "OTEL_BSP_SCHEDULE_DELAY=100")

	t.Run("go on from the caller's", func(t *testing.T) {
		const id = "0af7651916cd43dd8448eb211c80319c"
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.starter.url+"/lacuna.v1.SequenceService/Next", strings.NewReader(`{"bizType":"DEMO"}`))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("traceparent", "00-"+id+"-b7ad6b7169203331-01")
		response, err := s.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		testkit.Eventually(t, func() bool {
			return received.has(id, "lacuna-starter lacuna.v1.SequenceService/Next")
		}, "the API's span is not in the caller's trace")
	})

	t.Run("show the ledger, the pool, Temporal, the workflow and its activities", func(t *testing.T) {
		ticket, seqNo := s.next(t, "DEMO")
		s.awaitRun(t, ticket)
		require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
		s.awaitState(t, "DEMO", seqNo, sequence.Replayable)
		for _, prefix := range []string{
			"lacuna-starter sql", "lacuna-starter StartWorkflow:NumberLifecycle", "lacuna-starter SignalWithStartWorkflow:NumberLifecycle",
			"lacuna-worker RunWorkflow:NumberLifecycle", "lacuna-worker RunActivity:Settle", "lacuna-worker RunActivity:Replay",
			"lacuna-worker sql", "lacuna-worker redis.pipeline zadd",
		} {
			testkit.Eventually(t, func() bool { return received.has("", prefix) }, "there is no span %q", prefix)
		}
		require.True(t, received.has("", "lacuna-starter StartWorkflow:NumberLifecycle", "lacuna-worker RunWorkflow:NumberLifecycle", "lacuna-worker RunActivity:Replay"),
			"a lifecycle is one trace over both processes")
	})
	if t.Failed() {
		t.Logf("%v", received.traces)
	}
}
