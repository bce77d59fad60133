package main

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/internal/batching"
	"github.com/lacuna-seq/lacuna/internal/config"
	"github.com/lacuna-seq/lacuna/internal/probe"
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
	p, err := startup.Open(ctx, "lacuna-worker", settings.Servers, settings.Process)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(ctx)) }()
	if err := p.AwaitTemporal(ctx, workflows.SearchAttributes()); err != nil {
		return err
	}

	prober, err := probe.New(settings.ProbeDSNs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, prober.Close()) }()
	a := activities.New(p.Ledger, p.Pool, prober, p.Log, activities.WithJoin(func(name string) batching.Join {
		return telemetry.Join(p.Tracers.Tracer("lacuna"), name)
	}))
	defer a.Close()
	runs := runs{client: p.Temporal, namespace: p.Namespace, tracer: p.Tracers.Tracer("lacuna")}
	patrol := activities.NewPatrol(p.Ledger, p.Pool, runs, p.Log, settings.PatrolBatch)
	compensation := activities.NewCompensation(p.Ledger, p.Pool, runs, prober, p.Log)
	worker.SetStickyWorkflowCacheSize(settings.WorkflowCache)
	failed, identity := make(chan error, 2), newIdentity()
	options := worker.Options{
		Identity:                                identity,
		MaxConcurrentLocalActivityExecutionSize: concurrency,
		MaxConcurrentActivityExecutionSize:      concurrency,
		WorkerStopTimeout:                       stopBudget,
		OnFatalError:                            func(err error) { failed <- err },
	}
	for queue, register := range map[string]func(worker.ActivityRegistry){
		workflows.LifecycleTaskQueue: a.Register,
		workflows.PatrolTaskQueue: func(r worker.ActivityRegistry) {
			patrol.Register(r)
			compensation.Register(r)
		},
	} {
		w := worker.New(p.Temporal, queue, options)
		workflows.Register(w)
		register(w)
		if err := w.Start(); err != nil {
			return err
		}
		defer w.Stop()
	}
	if err := startAlerts(ctx, p, settings); err != nil {
		return err
	}
	if err := startCensus(ctx, p.Ledger, p.Pool, p.Log, p.Meters.Meter("lacuna")); err != nil {
		return err
	}
	if err := schedulePatrol(ctx, p.Temporal, settings.PatrolEvery); err != nil {
		return err
	}
	polls := polling{client: p.Temporal, namespace: p.Namespace, identity: identity, within: polled}
	ops, err := p.ServeOps(ctx, settings.OpsListen, telemetry.Check{Name: "ledger", Ask: p.Ledger.Ping},
		telemetry.Check{Name: "pool", Ask: p.Pool.Ping}, telemetry.Check{Name: "temporal", Ask: p.PingTemporal},
		telemetry.Check{Name: "lifecycles", Ask: polls.of(workflows.LifecycleTaskQueue)}, telemetry.Check{Name: "patrol", Ask: polls.of(workflows.PatrolTaskQueue)})
	if err != nil {
		return err
	}
	p.Log.Info("working", "namespace", p.Namespace, "ops", ops.Address())
	select {
	case <-ctx.Done():
		p.Log.Info("stopping")
	case err = <-failed:
	}
	return errors.Join(err, ops.Close())
}
