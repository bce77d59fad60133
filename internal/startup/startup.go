// Package startup opens the servers that a process works with, and waits for those that it cannot
// start without: with a line that says for what, for a bounded time.
//
// The starter and the worker assemble themselves with it.
package startup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
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
	"github.com/lacuna-seq/lacuna/internal/config"
	"github.com/lacuna-seq/lacuna/internal/telemetry"
)

// Waits for servers.
const (
	// Patience is how long a process waits for a server before it gives up.
	Patience = 2 * time.Minute
	// memoryPatience is how long a starter that has just begun waits for Redis.
	memoryPatience = 15 * time.Second
	askEvery       = 500 * time.Millisecond
	sayEvery       = 10 * time.Second
)

// Process is what a serving process works with.
type Process struct {
	*telemetry.Telemetry
	Ledger    *ledger.Ledger
	Pool      *pool.Pool
	Temporal  client.Client // it connects when it is first used: see AwaitTemporal
	Namespace string        // Temporal's

	stopKeeping func() // ends the watch, and the writing of delays with a last one
}

// Open starts the telemetry and opens the servers. It waits until the ledger answers, and refuses a
// schema that is too old or a server that would cut values short. Nobody waits for the pool, nor
// here for Temporal: numbers are issued and settled without.
func Open(ctx context.Context, service string, servers config.Servers, settings config.Process) (*Process, error) {
	t, err := telemetry.Start(ctx, telemetry.Options{Service: service, LogLevel: settings.LogLevel, LogFormat: settings.LogFormat})
	if err != nil {
		return nil, err
	}
	t.SetGlobals()
	p := &Process{Telemetry: t}
	if err := p.open(ctx, servers); err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

func (p *Process) open(ctx context.Context, servers config.Servers) (err error) {
	pool.SetLogger(p.Log.With("component", "redis"))
	if p.Pool, err = pool.Open(servers.RedisURL, p.Redis); err != nil {
		return fmt.Errorf("LACUNA_REDIS_URL: %w", err)
	}
	if p.Ledger, err = p.openLedger(ctx, servers.DSN); err != nil {
		return err
	}
	p.keepLedger(ctx)
	if err := p.Pool.Ping(ctx); err != nil {
		p.Log.WarnContext(ctx, "the pool is away; free numbers are not issued again until it is back", "error", err)
	}
	return p.openTemporal()
}

// Close closes the servers and sends what is left of the telemetry, within two seconds.
func (p *Process) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	var errs []error
	if p.Temporal != nil {
		p.Temporal.Close()
	}
	if p.stopKeeping != nil {
		p.stopKeeping()
	}
	if p.Pool != nil {
		errs = append(errs, p.Pool.Close())
	}
	if p.Ledger != nil {
		errs = append(errs, p.Ledger.Close())
	}
	if err := p.Shutdown(ctx); err != nil {
		p.Log.Debug("the last of the telemetry was not sent", "error", err)
	}
	return errors.Join(errs...)
}

func (p *Process) openLedger(ctx context.Context, dsn string) (*ledger.Ledger, error) {
	steps, err := p.Steps()
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(dsn, ledger.WithOpenDB(p.OpenDB), ledger.WithLogger(p.Log), ledger.WithCounter(p.Pool), ledger.WithMemory(p.Pool), ledger.WithObserver(steps))
	if err != nil {
		return nil, fmt.Errorf("LACUNA_MYSQL_DSN: %w", err)
	}
	err = await(ctx, p.Log, "the ledger", Patience, l.Ping)
	if err == nil {
		err = errors.Join(migrations.Check(ctx, l.DB()), l.CheckServer(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// keepLedger writes what the process counts for window advice and for the console, and watches that the ledger does not
// step back, until it closes: also what its stop settles.
func (p *Process) keepLedger(ctx context.Context) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var keeping sync.WaitGroup
	keeping.Go(func() { p.Ledger.KeepDelays(ctx) })
	keeping.Go(func() { p.Ledger.KeepActivity(ctx) })
	keeping.Go(func() { p.Ledger.Watch(ctx) })
	p.stopKeeping = func() {
		stop()
		keeping.Wait()
	}
}

func (p *Process) openTemporal() error {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return fmt.Errorf("TEMPORAL_*: %w", err)
	}
	if o.Namespace == "" {
		o.Namespace = client.DefaultNamespace
	}
	p.Namespace = o.Namespace
	o.Logger = log.NewStructuredLogger(p.Log.With("component", "temporal"))
	if err := p.Telemetry.Temporal(&o); err != nil {
		return err
	}
	if p.Temporal, err = client.NewLazyClient(o); err != nil {
		return fmt.Errorf("TEMPORAL_*: %w", err)
	}
	return nil
}

// AwaitTemporal waits until the namespace answers and has the search attributes; what it logs meanwhile says
// what is missing, with the command that adds it.
func (p *Process) AwaitTemporal(ctx context.Context, attributes []string) error {
	return await(ctx, p.Log, "Temporal's namespace "+p.Namespace, Patience, func(ctx context.Context) error {
		if err := p.PingTemporal(ctx); err != nil {
			return err
		}
		return p.checkAttributes(ctx, attributes)
	})
}

func (p *Process) checkAttributes(ctx context.Context, attributes []string) error {
	missing, err := MissingAttributes(ctx, p.Temporal, p.Namespace, attributes)
	var denied *serviceerror.PermissionDenied
	if errors.As(err, &denied) {
		p.Log.WarnContext(ctx, "the search attributes may not be listed; a missing one will fail every start", "attributes", attributes)
		return nil
	}
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("namespace %s lacks search attributes: run `%s`", p.Namespace, AddAttributes(p.Namespace, missing))
	}
	return nil
}

// MissingAttributes are those of the search attributes, all keywords, that the namespace does not know.
func MissingAttributes(ctx context.Context, c client.Client, namespace string, attributes []string) ([]string, error) {
	known, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("list the search attributes of namespace %s: %w", namespace, err)
	}
	return slices.DeleteFunc(slices.Clone(attributes), func(name string) bool {
		return known.GetCustomAttributes()[name] == enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}), nil
}

// AddAttributes is the command that adds what is missing. Each name needs a type of its own: the command says that it has
// added all, and adds as many as it was given types.
func AddAttributes(namespace string, missing []string) string {
	const each = " --type Keyword --name "
	return "temporal operator search-attribute create --namespace " + namespace + each + strings.Join(missing, each)
}

// AwaitMemory waits for Redis, as long as that reads its data in, or memoryPatience: a process that has just begun has seen
// nothing itself, and only Redis can tell it that the ledger has stepped back. A Redis that is away for longer keeps
// nobody from issuing.
func (p *Process) AwaitMemory(ctx context.Context) error {
	has, err := p.Ledger.HasAllocated(ctx)
	if err != nil || !has {
		return err
	}
	for {
		err := await(ctx, p.Log, "Redis, which knows whether the ledger has stepped back", memoryPatience, p.Pool.Ping)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if !pool.IsLoading(err) {
			p.Log.WarnContext(ctx, "Redis is away; going by what the ledger says of itself: if it was restored, run `lacuna ledger raise` before anybody takes numbers", "error", err)
			return nil
		}
	}
}

// PingTemporal returns nil when the namespace answers.
func (p *Process) PingTemporal(ctx context.Context) error {
	_, err := p.Temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: p.Namespace})
	return err
}

// await asks until the server answers, ctx ends or the patience does.
func await(ctx context.Context, log *slog.Logger, what string, patience time.Duration, ask func(context.Context) error) error {
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
				log.InfoContext(ctx, what+" answers", "after", time.Since(begun).Round(time.Millisecond))
			}
			return nil
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("%s did not answer for %s: %w", what, patience, err)
		}
		if time.Since(said) > sayEvery {
			said = time.Now()
			log.WarnContext(ctx, "waiting for "+what, "patience", (patience - time.Since(begun)).Round(time.Second), "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("stopped while waiting for %s: %w", what, err)
		}
	}
}
