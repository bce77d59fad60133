package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

func TestReplayLadder(t *testing.T) {
	t.Run("tries again after 30 s, 2 min and 5 min, exactly", func(t *testing.T) {
		w := newWorld(t)
		w.poolDown = 3
		w.at(0, w.signal(workflows.SignalAbandon))
		require.Equal(t, sequence.Replayable, w.live(t).State)
		require.Equal(t, []time.Duration{
			safetyWindow,
			safetyWindow + 30*time.Second,
			safetyWindow + 30*time.Second + 2*time.Minute,
			safetyWindow + 30*time.Second + 2*time.Minute + 5*time.Minute,
		}, w.pushes)
	})
	t.Run("does not hold up a confirm", func(t *testing.T) {
		w := newWorld(t)
		w.poolDown = 100
		w.at(0, w.signal(workflows.SignalAbandon))
		w.at(safetyWindow+time.Minute, w.signal(workflows.SignalConfirm))
		require.Equal(t, sequence.Confirmed, w.live(t).State)
		require.Equal(t, safetyWindow+time.Minute, w.ran())
		require.Len(t, w.pushes, 2)
	})
	t.Run("does not close the run over a confirm that came with the push", func(t *testing.T) {
		w := newWorld(t)
		w.at(0, w.signal(workflows.SignalAbandon))
		w.onPush = func() {
			w.SignalWorkflowSkippingWorkflowTask(workflows.SignalConfirm, workflows.CommandSignal{})
		}
		require.Equal(t, sequence.Confirmed, w.live(t).State)
		require.Equal(t, 1, w.removed, "it is taken out of the pool again")
	})
	t.Run("is not spent on a window that is raised while it is asked for", func(t *testing.T) {
		w := newWorld(t)
		w.at(0, w.signal(workflows.SignalAbandon))
		w.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) { w.window = 10 * time.Minute })
		require.Equal(t, sequence.Replayable, w.live(t).State)
		require.Equal(t, []time.Duration{10 * time.Minute}, w.pushes)
	})
	t.Run("is spared for a number that has moved on", func(t *testing.T) { // C14
		w := newWorld(t)
		w.at(0, w.signal(workflows.SignalAbandon))
		w.at(safetyWindow-time.Second, w.change(confirmed))
		require.Equal(t, sequence.Confirmed, w.live(t).State)
		require.Empty(t, w.pushes)
	})
}

func TestSettleOutlastsTheLedger(t *testing.T) {
	w := newWorld(t)
	w.ledgerDown = true
	w.at(0, w.signal(workflows.SignalConfirm))
	w.at(2*time.Minute, func() { w.ledgerDown = false })
	require.Equal(t, sequence.Confirmed, w.live(t).State)
	require.GreaterOrEqual(t, w.ran(), 2*time.Minute)
	require.LessOrEqual(t, w.ran(), 2*time.Minute+30*time.Second, "its attempts are at most a quarter of the default window apart")
}
