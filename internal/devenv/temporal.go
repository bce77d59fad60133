package devenv

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// TemporalConfig says where a Temporal development server runs.
type TemporalConfig struct {
	Dir    string // its log and, with Persist, its database; made on first use
	Port   int
	UIPort int // 0 runs it without the UI
	// Persist keeps workflows over a restart; else all are forgotten.
	Persist bool
	// SearchAttributes are registered as keywords.
	SearchAttributes []string
}

// Temporal is a running development server with the namespace "default".
type Temporal struct {
	*Server
	config TemporalConfig
}

// TemporalNamespace is the namespace that the server starts with.
const TemporalNamespace = "default"

// StartTemporal runs the server and returns when its namespace answers.
func StartTemporal(ctx context.Context, b Binaries, config TemporalConfig) (*Temporal, error) {
	if err := checkTemporalVersion(ctx, b.Temporal); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(config.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make Temporal's folder: %w", err)
	}
	spec := Spec{Name: "Temporal", Path: b.Temporal, Args: config.args(), Dir: config.Dir, Log: filepath.Join(config.Dir, "log")}
	server, err := startServer(ctx, spec, config.Port, config.ping)
	if err != nil {
		return nil, err
	}
	return &Temporal{Server: server, config: config}, nil
}

// args are the server's command line; its database is in the folder that it runs in.
func (c TemporalConfig) args() []string {
	args := []string{"server", "start-dev", "--ip", "127.0.0.1", "--port", strconv.Itoa(c.Port),
		"--namespace", TemporalNamespace, "--log-level", "error", "--log-format", "pretty"}
	for _, name := range c.SearchAttributes {
		args = append(args, "--search-attribute", name+"=Keyword")
	}
	if c.UIPort == 0 {
		args = append(args, "--headless")
	} else {
		args = append(args, "--ui-port", strconv.Itoa(c.UIPort))
	}
	if c.Persist {
		// These two pragmas double the server's speed, and a killed process loses nothing by them.
		args = append(args, "--db-filename", "temporal.db",
			"--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal")
	}
	return args
}

// ping asks for what a client needs: the namespace, counted by its last search attribute, which is
// the last thing to be there.
func (c TemporalConfig) ping(ctx context.Context, _ *Child) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	t, err := client.DialContext(ctx, client.Options{HostPort: Address(c.Port), Namespace: TemporalNamespace, Logger: quiet})
	if err != nil {
		return err
	}
	defer t.Close()
	query := ""
	if n := len(c.SearchAttributes); n > 0 {
		query = c.SearchAttributes[n-1] + ` = "none"`
	}
	_, err = t.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: TemporalNamespace, Query: query})
	return err
}

// Config is what the server was started with, and can be started with again.
func (t *Temporal) Config() TemporalConfig { return t.config }

// UIURL is the address of the server's UI; empty without one.
func (t *Temporal) UIURL() string {
	if t.config.UIPort == 0 {
		return ""
	}
	return "http://" + Address(t.config.UIPort)
}
