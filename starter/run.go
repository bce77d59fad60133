package main

import (
	"context"
	"errors"
	"time"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/config"
	"github.com/lacuna-seq/lacuna/internal/runlink"
	"github.com/lacuna-seq/lacuna/internal/startup"
	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/issuer"
)

// stopBudget is how long a stop may take: calls in flight, then what is queued, then what is held.
const stopBudget = 20 * time.Second

// run serves until ctx ends, then stops in order.
func run(ctx context.Context, args []string) (err error) {
	var settings config.Starter
	if err := config.Parse("starter", "Lacuna's API server.", args, &settings); err != nil {
		return err
	}
	p, err := startup.Open(ctx, "lacuna-starter", settings.Servers, settings.Process)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(ctx)) }()
	if err := p.AwaitMemory(ctx); err != nil {
		return err
	}

	i, err := issuer.New(ctx, p.Ledger, p.Pool, issuer.Temporal{Client: p.Temporal, Namespace: p.Namespace}, issuer.WithLease(settings.Lease), issuer.WithLogger(p.Log), issuer.WithMeter(p.Meters.Meter("lacuna")),
		issuer.WithTracer(p.Tracers.Tracer("lacuna")))
	if err != nil {
		return err
	}
	links := runlink.Maker{UI: settings.TemporalUIURL, Namespace: p.Namespace}
	service := &wire.Service{
		Issuing: &issuing{issuer: i, ledger: p.Ledger, runs: links},
		Fault: func(ctx context.Context, err error, ticket string) {
			logFault(ctx, p.Log, err, telemetry.KeyTicket, ticket)
		},
	}
	gate, keyring, keep, err := openGate(ctx, p, settings)
	if err != nil {
		return errors.Join(err, stop(ctx, i.Stop))
	}
	defer keep()
	cert, err := certificateOf(p, settings)
	if err != nil {
		return errors.Join(err, stop(ctx, i.Stop))
	}
	operator := &operatorService{ledger: p.Ledger, pool: p.Pool, runs: links, openRuns: openRuns{p.Temporal}, stopping: ctx}
	api, err := serve(ctx, p, settings, gate, keyring, cert, service, operator)
	if err != nil {
		return errors.Join(err, stop(ctx, i.Stop))
	}
	ops, err := p.ServeOps(ctx, settings.OpsListen, telemetry.Check{Name: "ledger", Ask: p.Ledger.Ping}, telemetry.Check{Name: "lease", Ask: i.Ready})
	if err != nil {
		return errors.Join(err, stop(ctx, api.shutdown, i.Stop))
	}
	p.Log.Info("serving", "api", api.address(), "ops", ops.Address(), "issuer", i.ID(), "namespace", p.Namespace)
	select {
	case <-ctx.Done():
		p.Log.Info("stopping")
	case err = <-api.failed:
	}
	return errors.Join(err, stop(ctx, api.shutdown, i.Stop), ops.Close())
}

// serve opens the API and the console.
func serve(ctx context.Context, p *startup.Process, settings config.Starter, g *gate, k *access.Keyring, cert *certificate, service *wire.Service, operator *operatorService) (*server, error) {
	api, err := services(p.Telemetry, g, service, operator)
	if err != nil {
		return nil, err
	}
	pages, err := newConsole(g, k, api, p.Ledger, p.Log)
	if err != nil {
		return nil, err
	}
	return listen(ctx, g, cert, settings.Listen, api, pages)
}

// stop runs the steps in order within the budget.
func stop(ctx context.Context, steps ...func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBudget)
	defer cancel()
	var errs []error
	for _, step := range steps {
		errs = append(errs, step(ctx))
	}
	return errors.Join(errs...)
}
