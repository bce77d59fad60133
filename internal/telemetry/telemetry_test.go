package telemetry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/lacuna-seq/lacuna/internal/telemetry"
)

func start(t *testing.T, logTo io.Writer) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "test", LogLevel: "info", LogFormat: "json", LogTo: logTo})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tel.Shutdown(context.Background())) })
	return tel
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestOps(t *testing.T) {
	tel := start(t, io.Discard)
	var away error
	ops, err := tel.ServeOps(t.Context(), "127.0.0.1:0",
		telemetry.Check{Name: "ledger", Ask: func(context.Context) error { return away }},
		telemetry.Check{Name: "temporal", Ask: func(context.Context) error { return nil }})
	require.NoError(t, err)
	defer ops.Close() //nolint:errcheck // the end of the test
	url := "http://" + ops.Address()

	t.Run("is healthy while it lives", func(t *testing.T) {
		status, _ := get(t, url+"/healthz")
		require.Equal(t, http.StatusOK, status)
	})
	t.Run("is ready when every check is well", func(t *testing.T) {
		status, body := get(t, url+"/readyz")
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "ledger: ok\ntemporal: ok\n", body)
	})
	t.Run("names what is away, and not where it is", func(t *testing.T) {
		away = errors.New("dial tcp 10.0.0.7:3306: refused")
		status, body := get(t, url+"/readyz")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Equal(t, "ledger: away\ntemporal: ok\n", body)
	})
	t.Run("shows every check among the metrics", func(t *testing.T) {
		away = errors.New("refused")
		_, body := get(t, url+"/metrics")
		require.Contains(t, body, `lacuna_reachable{check="ledger"} 0`)
		require.Contains(t, body, `lacuna_reachable{check="temporal"} 1`)
		away = nil
		_, body = get(t, url+"/metrics")
		require.Contains(t, body, `lacuna_reachable{check="ledger"} 1`)
	})
	t.Run("shows what is counted", func(t *testing.T) {
		counter, err := tel.Meters.Meter("test").Int64Counter(telemetry.MetricClaims)
		require.NoError(t, err)
		counter.Add(t.Context(), 7, metric.WithAttributes(attribute.String(telemetry.KeyBizType, "ORDER")))
		_, body := get(t, url+"/metrics")
		require.Contains(t, body, `lacuna_claims_total{biz_type="ORDER"} 7`)
		require.Contains(t, body, "go_goroutines")
	})
	t.Run("names the setting of an address in use", func(t *testing.T) {
		_, err := tel.ServeOps(t.Context(), ops.Address())
		require.ErrorContains(t, err, "LACUNA_OPS_LISTEN")
	})
}

func TestACollectorThatIsAwayFailsNothing(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "test", LogLevel: "info", LogTo: io.Discard})
	require.NoError(t, err)
	_, span := tel.Tracers.Tracer("test").Start(t.Context(), "work")
	require.True(t, span.IsRecording())
	span.End()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_ = tel.Shutdown(gone) // it may say that spans were lost; it returns
}

func TestBadLogSettingsAreRefused(t *testing.T) {
	_, err := telemetry.Start(t.Context(), telemetry.Options{LogLevel: "loud"})
	require.ErrorContains(t, err, "log level")
}

func TestTheProtocolOfTheExport(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	for protocol, fault := range map[string]string{"grpc": "", "http/protobuf": "", "http/json": "neither grpc nor http/protobuf"} {
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", protocol)
		tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "test", LogLevel: "info", LogTo: io.Discard})
		if fault != "" {
			require.ErrorContains(t, err, fault)
			require.ErrorContains(t, err, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
			continue
		}
		require.NoError(t, err)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_ = tel.Shutdown(gone)
	}
}
