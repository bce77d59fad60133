package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/internal/testkit"
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
	var away atomic.Pointer[error]
	refused := errors.New("dial tcp 10.0.0.7:3306: refused")
	ops, err := tel.ServeOps(t.Context(), "127.0.0.1:0",
		telemetry.Check{Name: "ledger", Ask: func(context.Context) error {
			if err := away.Load(); err != nil {
				return *err
			}
			return nil
		}},
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
		away.Store(&refused)
		status, body := get(t, url+"/readyz")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Equal(t, "ledger: away\ntemporal: ok\n", body)
	})
	t.Run("shows every check among the metrics", func(t *testing.T) {
		shows := func(line string) {
			testkit.Eventually(t, func() bool {
				_, body := get(t, url+"/metrics")
				return strings.Contains(body, line)
			}, "the metrics do not show %s", line)
		}
		shows(`lacuna_reachable{check="ledger"} 0`)
		shows(`lacuna_reachable{check="temporal"} 1`)
		away.Store(nil)
		shows(`lacuna_reachable{check="ledger"} 1`)
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

// A client counts something for the first time, as Temporal's does when a call first fails, while the metrics are read:
// neither may wait for the other.
func TestACheckMayMakeInstruments(t *testing.T) {
	tel := start(t, io.Discard)
	var made atomic.Int64
	ops, err := tel.ServeOps(t.Context(), "127.0.0.1:0", telemetry.Check{Name: "temporal", Ask: func(context.Context) error {
		_, err := tel.Meters.Meter("test").Int64Counter(fmt.Sprint("counter_", made.Add(1)))
		return err
	}})
	require.NoError(t, err)
	defer ops.Close() //nolint:errcheck // the end of the test
	testkit.Eventually(t, func() bool {
		_, body := get(t, "http://"+ops.Address()+"/metrics")
		return strings.Contains(body, `lacuna_reachable{check="temporal"} 1`)
	}, "the metrics do not show the check")
}

func TestACheckThatIgnoresItsTimeIsAway(t *testing.T) {
	tel := start(t, io.Discard)
	ops, err := tel.ServeOps(t.Context(), "127.0.0.1:0", telemetry.Check{Name: "pool", Ask: func(context.Context) error { select {} }})
	require.NoError(t, err)
	defer ops.Close() //nolint:errcheck // the end of the test
	status, body := get(t, "http://"+ops.Address()+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "pool: away\n", body)
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
