package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/workflows"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// C49: a worker that lives, reaches Temporal and polls nothing is not ready.
func TestC49AWorkerThatPollsNothingIsNotReady(t *testing.T) {
	c, err := client.Dial(client.Options{HostPort: testkit.OwnTemporal(t).Address()})
	require.NoError(t, err)
	defer c.Close()
	start := func(identity, queue string) worker.Worker {
		w := worker.New(c, queue, worker.Options{Identity: identity})
		workflows.Register(w)
		w.RegisterActivity(func(context.Context) error { return nil })
		require.NoError(t, w.Start())
		return w
	}
	polls := func(identity string) polling {
		return polling{client: c, namespace: client.DefaultNamespace, identity: identity, within: 5 * time.Second}
	}
	ready := polls("ready")
	require.ErrorContains(t, ready.ask(t.Context(), workflows.LifecycleTaskQueue), "(ready) ask for", "nobody polls")

	right, wrong := start("ready", workflows.LifecycleTaskQueue), start("mistyped", "lacuna-lifecycel")
	defer wrong.Stop()
	testkit.Eventually(t, func() bool { return ready.ask(t.Context(), workflows.LifecycleTaskQueue) == nil }, "a worker that polls is not ready")
	testkit.Eventually(t, func() bool { return polls("mistyped").ask(t.Context(), "lacuna-lifecycel") == nil }, "it polls its queue")
	require.ErrorContains(t, polls("mistyped").ask(t.Context(), workflows.LifecycleTaskQueue), "has not seen this process", "others that poll do not make it ready")

	right.Stop()
	testkit.Eventually(t, func() bool { return ready.ask(t.Context(), workflows.LifecycleTaskQueue) != nil }, "a worker that was stopped is ready")

	elsewhere := ready
	elsewhere.namespace = "nowhere"
	require.ErrorContains(t, elsewhere.ask(t.Context(), workflows.LifecycleTaskQueue), "ask who polls")
}
