package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Check is one thing that a process needs to be ready, e.g. its ledger.
type Check struct {
	Name string
	// Ask returns nil where it is well.
	Ask func(context.Context) error
}

// checkTimeout ends one readiness check.
const checkTimeout = 2 * time.Second

// OpsServer shows a process's health and metrics:
//
//	/healthz  200 while the process lives
//	/readyz   200 when all checks are well, else 503; a line for each check
//	/metrics  Prometheus
type OpsServer struct {
	server *http.Server
	addr   net.Addr
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
	o := &OpsServer{server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}, addr: listener.Addr()}
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
func (o *OpsServer) Close() error { return o.server.Close() }

// ready asks all checks at once. What is wrong is told by name; the error itself, which may name
// addresses, is for the log.
func (t *Telemetry) ready(w http.ResponseWriter, r *http.Request, checks []Check) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	type answer struct {
		name string
		err  error
	}
	answers := make(chan answer, len(checks))
	for _, c := range checks {
		go func() { answers <- answer{c.Name, c.Ask(ctx)} }()
	}
	var lines []string
	status := http.StatusOK
	for range checks {
		a := <-answers
		line := a.name + ": ok"
		if a.err != nil {
			line, status = a.name+": away", http.StatusServiceUnavailable
			t.Log.WarnContext(ctx, "not ready", "check", a.name, "error", a.err)
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
