package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/lacuna-seq/lacuna/internal/wait"
)

// Check is one thing that a process needs to be ready, e.g. its ledger.
type Check struct {
	Name string
	// Ask returns nil where it is well.
	Ask func(context.Context) error
}

const (
	// checkTimeout ends one readiness check.
	checkTimeout = 2 * time.Second
	// checkEvery is how often the checks are asked for the metrics, which Prometheus reads every 15 s.
	checkEvery = 5 * time.Second
)

// OpsServer shows a process's health and metrics:
//
//	/healthz  200 while the process lives
//	/readyz   200 when all checks are well, else 503; a line for each check
//	/metrics  Prometheus; the checks among them are at most some seconds old
type OpsServer struct {
	server *http.Server
	addr   net.Addr
	shown  metric.Registration // of the checks among the metrics
	stop   context.CancelFunc  // of asking them
}

// ServeOps listens on address and serves until Close. An address in use is an error that names it.
func (t *Telemetry) ServeOps(ctx context.Context, address string, checks ...Check) (*OpsServer, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve health and metrics (LACUNA_OPS_LISTEN): %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(t.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { t.ready(w, r, checks) })
	asking, stop := context.WithCancel(context.WithoutCancel(ctx))
	shown, err := t.showChecks(asking, checks)
	if err != nil {
		stop()
		return nil, errors.Join(err, listener.Close())
	}
	o := &OpsServer{server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}, addr: listener.Addr(), shown: shown, stop: stop}
	go func() {
		if err := o.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Log.Error("the ops server ended", "error", err)
		}
	}()
	return o, nil
}

// Address is where it listens.
func (o *OpsServer) Address() string { return o.addr.String() }

// Close ends the server at once.
func (o *OpsServer) Close() error {
	o.stop()
	return errors.Join(o.server.Close(), o.shown.Unregister())
}

// showChecks makes every check a gauge, 1 where it is well and 0 where it is not: a process that serves on without its
// pool is not restarted, but must show. They are asked beside the collection of the metrics until ctx ends, never in it:
// that holds the meters' lock, and a check whose client counts something for the first time, as Temporal's does when a
// call first fails, waits for the same lock.
func (t *Telemetry) showChecks(ctx context.Context, checks []Check) (metric.Registration, error) {
	meter := t.Meters.Meter("lacuna")
	reachable, err := meter.Int64ObservableGauge(MetricReachable, metric.WithDescription("Whether a server that this process needs answers it, 1 or 0"))
	if err != nil {
		return nil, fmt.Errorf("telemetry: %s: %w", MetricReachable, err)
	}
	var last atomic.Pointer[[]answer]
	go func() {
		for {
			answers := ask(ctx, checks)
			last.Store(&answers)
			if wait.For(ctx, checkEvery) != nil {
				return
			}
		}
	}()
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		answers := last.Load()
		if answers == nil { // not asked yet
			return nil
		}
		for _, a := range *answers {
			value := int64(1)
			if a.err != nil {
				value = 0
			}
			o.ObserveInt64(reachable, value, metric.WithAttributes(attribute.String(KeyCheck, a.name)))
		}
		return nil
	}, reachable)
}

// ready answers by the checks. What is wrong is told by name; the error itself, which may name
// addresses, is for the log.
func (t *Telemetry) ready(w http.ResponseWriter, r *http.Request, checks []Check) {
	var lines []string
	status := http.StatusOK
	for _, a := range ask(r.Context(), checks) {
		line := a.name + ": ok"
		if a.err != nil {
			line, status = a.name+": away", http.StatusServiceUnavailable
			t.Log.WarnContext(r.Context(), "not ready", "check", a.name, "error", a.err)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	for _, line := range lines {
		_, _ = fmt.Fprintln(w, line)
	}
}

// answer is what a check said.
type answer struct {
	name string
	err  error
}

// errNoAnswer is said of a check that let its time pass.
var errNoAnswer = fmt.Errorf("no answer within %s", checkTimeout)

// ask asks all checks at once, within their time limit; one that does not keep to it is not waited for.
func ask(ctx context.Context, checks []Check) []answer {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	arriving := make(chan answer, len(checks))
	late := make(map[string]bool, len(checks))
	for _, c := range checks {
		late[c.Name] = true
		go func() { arriving <- answer{c.Name, c.Ask(ctx)} }()
	}
	answers := make([]answer, 0, len(checks))
	for len(late) > 0 {
		select {
		case a := <-arriving:
			answers = append(answers, a)
			delete(late, a.name)
		case <-ctx.Done():
			for name := range late {
				answers = append(answers, answer{name, errNoAnswer})
			}
			return answers
		}
	}
	return answers
}
