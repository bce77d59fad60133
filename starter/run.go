package main

import (
	"context"
	"errors"
	"time"

	"github.com/lacuna-seq/lacuna/internal/config"
	"github.com/lacuna-seq/lacuna/internal/startup"
	"github.com/lacuna-seq/lacuna/internal/telemetry"
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
	t, err := telemetry.Start(ctx, telemetry.Options{Service: "lacuna-starter", LogLevel: settings.LogLevel, LogFormat: settings.LogFormat})
	if err != nil {
		return err
	}
	t.SetGlobals()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if lost := t.Shutdown(ctx); lost != nil {
			t.Log.Debug("telemetry", "error", lost)
		}
	}()

	ledger, err := startup.Ledger(ctx, t, settings.DSN)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	pool, err := startup.Pool(ctx, t, settings.RedisURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	temporal, namespace, err := startup.Temporal(t)
	if err != nil {
		return err
	}
	defer temporal.Close()

	i, err := issuer.New(ctx, ledger, pool, issuer.Temporal{Client: temporal}, issuer.WithLogger(t.Log), issuer.WithMeter(t.Meters.Meter("lacuna")))
	if err != nil {
		return err
	}
	service := &sequenceService{issuer: i, ledger: ledger, runs: runLinks{ui: settings.TemporalUIURL, namespace: namespace}}
	api, err := listen(ctx, t, settings.Listen, service)
	if err != nil {
		return errors.Join(err, stop(ctx, i.Stop))
	}
	ops, err := t.ServeOps(ctx, settings.OpsListen, telemetry.Check{Name: "ledger", Ask: ledger.Ping})
	if err != nil {
		return errors.Join(err, stop(ctx, api.shutdown, i.Stop))
	}
	t.Log.Info("serving", "api", api.address(), "ops", ops.Address(), "issuer", i.ID(), "namespace", namespace)
	select {
	case <-ctx.Done():
		t.Log.Info("stopping")
	case err = <-api.failed:
	}
	return errors.Join(err, stop(ctx, api.shutdown, i.Stop), ops.Close())
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
