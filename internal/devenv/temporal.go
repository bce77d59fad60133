package devenv

import (
	"context"
	"fmt"
	"io"
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
	*Child
	config TemporalConfig
}

// TemporalNamespace is the namespace that the server starts with.
const TemporalNamespace = "default"

// StartTemporal runs the server and returns when its namespace answers.
func StartTemporal(ctx context.Context, b Binaries, config TemporalConfig) (*Temporal, error) {
	if err := os.MkdirAll(config.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make Temporal's folder: %w", err)
	}
	args := []string{"server", "start-dev", "--ip", "127.0.0.1", "--port", strconv.Itoa(config.Port),
		"--namespace", TemporalNamespace, "--log-level", "error", "--log-format", "pretty"}
	for _, name := range config.SearchAttributes {
		args = append(args, "--search-attribute", name+"=Keyword")
	}
	if config.UIPort == 0 {
		args = append(args, "--headless")
	} else {
		args = append(args, "--ui-port", strconv.Itoa(config.UIPort))
	}
	if config.Persist {
		// These two pragmas double the server's speed, and a killed process loses nothing by them.
		args = append(args, "--db-filename", filepath.Join(config.Dir, "temporal.db"),
			"--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal")
	}
	child, err := Start(Spec{Name: "Temporal", Path: b.Temporal, Args: args, Log: filepath.Join(config.Dir, "log")})
	if err != nil {
		return nil, err
	}
	t := &Temporal{Child: child, config: config}
	if err := child.AwaitReady(ctx, t.ping); err != nil {
		return nil, fmt.Errorf("%w\n(data folder %s; `make clean-dev` forgets it)", err, config.Dir)
	}
	return t, nil
}

// Config is what the server was started with, and can be started with again.
func (t *Temporal) Config() TemporalConfig { return t.config }

// Address is the server's frontend.
func (t *Temporal) Address() string { return Address(t.config.Port) }

// UIURL is the address of the server's UI; empty without one.
func (t *Temporal) UIURL() string {
	if t.config.UIPort == 0 {
		return ""
	}
	return "http://" + Address(t.config.UIPort)
}

// ping asks for what a client needs: the namespace, readable by a list.
func (t *Temporal) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c, err := client.DialContext(ctx, client.Options{
		HostPort: t.Address(), Namespace: TemporalNamespace, Logger: log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	if err != nil {
		return err
	}
	defer c.Close()
	query := ""
	if len(t.config.SearchAttributes) > 0 { // the last one to be there
		query = t.config.SearchAttributes[len(t.config.SearchAttributes)-1] + ` = "none"`
	}
	_, err = c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: TemporalNamespace, Query: query})
	return err
}
