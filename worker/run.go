package main

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/internal/config"
	"github.com/lacuna-seq/lacuna/internal/startup"
	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/workflows"
)

// The worker's bounds.
const (
	// stopBudget is how long activities in flight have to end.
	stopBudget = 15 * time.Second
	// concurrency is how many activities of a kind run at once. They wait for shared
	// transactions, so many are cheap, and the more wait the larger the transactions are.
	concurrency = 1000
)

// run works until ctx ends, then lets what is in flight end.
func run(ctx context.Context, args []string) (err error) {
	var settings config.Worker
	if err := config.Parse("worker", "Lacuna's Temporal worker.", args, &settings); err != nil {
		return err
	}
	t, err := telemetry.Start(ctx, telemetry.Options{Service: "lacuna-worker", LogLevel: settings.LogLevel, LogFormat: settings.LogFormat})
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
	if err := startup.AwaitTemporal(ctx, t, temporal, namespace, workflows.SearchAttributes()); err != nil {
		return err
	}

	a := activities.New(ledger, pool, t.Log)
	defer a.Close()
	failed := make(chan error, 1)
	w := worker.New(temporal, workflows.LifecycleTaskQueue, worker.Options{
		MaxConcurrentLocalActivityExecutionSize: concurrency,
		MaxConcurrentActivityExecutionSize:      concurrency,
		WorkerStopTimeout:                       stopBudget,
		OnFatalError:                            func(err error) { failed <- err },
	})
	workflows.Register(w)
	a.Register(w)
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	ops, err := t.ServeOps(ctx, settings.OpsListen, telemetry.Check{Name: "ledger", Ask: ledger.Ping}, telemetry.Check{Name: "pool", Ask: pool.Ping},
		telemetry.Check{Name: "temporal", Ask: func(ctx context.Context) error { return startup.PingTemporal(ctx, temporal, namespace) }})
	if err != nil {
		return err
	}
	t.Log.Info("working", "namespace", namespace, "task_queue", workflows.LifecycleTaskQueue, "ops", ops.Address())
	select {
	case <-ctx.Done():
		t.Log.Info("stopping")
	case err = <-failed:
	}
	return errors.Join(err, ops.Close())
}
