// Package startup opens the servers that a process works with, and waits for those that it cannot
// start without: with a line that says for what, for a bounded time.
//
// The starter and the worker assemble themselves with it.
package startup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/telemetry"
)

// Waits for servers.
const (
	// Patience is how long a process waits for a server before it gives up.
	Patience = 2 * time.Minute
	askEvery = 500 * time.Millisecond
	sayEvery = 10 * time.Second
)

// Ledger opens the ledger, waits until it answers, and refuses a schema that is too old or a
// server that would cut values short.
func Ledger(ctx context.Context, t *telemetry.Telemetry, dsn string) (*ledger.Ledger, error) {
	l, err := ledger.Open(dsn, ledger.WithOpenDB(t.OpenDB), ledger.WithLogger(t.Log))
	if err != nil {
		return nil, fmt.Errorf("LACUNA_MYSQL_DSN: %w", err)
	}
	err = wait(ctx, t, "the ledger", l.Ping)
	if err == nil {
		err = errors.Join(migrations.Check(ctx, l.DB()), l.CheckServer(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Pool opens the pool. Nobody waits for it: numbers are issued and settled without.
func Pool(ctx context.Context, t *telemetry.Telemetry, url string) (*pool.Pool, error) {
	p, err := pool.Open(url, t.Redis)
	if err != nil {
		return nil, fmt.Errorf("LACUNA_REDIS_URL: %w", err)
	}
	if err := p.Ping(ctx); err != nil {
		t.Log.WarnContext(ctx, "the pool is away; free numbers are not issued again until it is back", "error", err)
	}
	return p, nil
}

// Temporal makes a client by the standard TEMPORAL_* settings. It does not connect: see AwaitTemporal.
func Temporal(t *telemetry.Telemetry) (c client.Client, namespace string, err error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, "", fmt.Errorf("TEMPORAL_*: %w", err)
	}
	if o.Namespace == "" {
		o.Namespace = client.DefaultNamespace
	}
	o.Logger = log.NewStructuredLogger(t.Log.With("component", "temporal"))
	if err := t.Temporal(&o); err != nil {
		return nil, "", err
	}
	c, err = client.NewLazyClient(o)
	if err != nil {
		return nil, "", fmt.Errorf("TEMPORAL_*: %w", err)
	}
	return c, o.Namespace, nil
}

// AwaitTemporal waits until the namespace answers, and refuses one that lacks the search
// attributes, with the command that adds them.
func AwaitTemporal(ctx context.Context, t *telemetry.Telemetry, c client.Client, namespace string, attributes []string) error {
	err := wait(ctx, t, "Temporal's namespace "+namespace, func(ctx context.Context) error { return PingTemporal(ctx, c, namespace) })
	if err != nil {
		return err
	}
	known, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	var denied *serviceerror.PermissionDenied
	if errors.As(err, &denied) {
		t.Log.WarnContext(ctx, "the search attributes may not be listed; a missing one will fail every start", "attributes", attributes)
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the search attributes of namespace %s: %w", namespace, err)
	}
	missing := slices.DeleteFunc(slices.Clone(attributes), func(name string) bool {
		return known.GetCustomAttributes()[name] == enumspb.INDEXED_VALUE_TYPE_KEYWORD
	})
	if len(missing) > 0 {
		return fmt.Errorf("namespace %s lacks search attributes: run `temporal operator search-attribute create --namespace %s --type Keyword --name %s`",
			namespace, namespace, strings.Join(missing, " --name "))
	}
	return nil
}

// PingTemporal returns nil when the namespace answers.
func PingTemporal(ctx context.Context, c client.Client, namespace string) error {
	_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	return err
}

// wait asks until the server answers, ctx ends or the patience does.
func wait(ctx context.Context, t *telemetry.Telemetry, what string, ask func(context.Context) error) error {
	begun := time.Now()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var said time.Time
	for {
		attempt, cancel := context.WithTimeout(ctx, 3*time.Second)
		err := ask(attempt)
		cancel()
		if err == nil {
			if !said.IsZero() {
				t.Log.InfoContext(ctx, what+" answers", "after", time.Since(begun).Round(time.Millisecond))
			}
			return nil
		}
		if time.Since(begun) > Patience {
			return fmt.Errorf("%s did not answer for %s: %w", what, Patience, err)
		}
		if time.Since(said) > sayEvery {
			said = time.Now()
			t.Log.WarnContext(ctx, "waiting for "+what, "patience", (Patience - time.Since(begun)).Round(time.Second), "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("stopped while waiting for %s: %w", what, err)
		}
	}
}
