package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

func TestCancel(t *testing.T) {
	canceled := func(w *world) bool { return temporal.IsCanceledError(errors.Unwrap(w.GetWorkflowError())) }

	t.Run("leaves a number that waits for its confirm to its deadline", func(t *testing.T) {
		w := newWorld(t)
		w.at(time.Second, w.CancelWorkflow)
		w.execute(t)
		require.True(t, canceled(w))
		require.Equal(t, time.Second, w.ran())
		require.Equal(t, sequence.Allocated, w.row.State)
	})
	t.Run("leaves a number in its window out of the pool", func(t *testing.T) {
		w := newWorld(t)
		w.at(0, w.signal(workflows.SignalAbandon))
		w.at(time.Minute, w.CancelWorkflow)
		w.execute(t)
		require.True(t, canceled(w))
		require.Equal(t, sequence.Abandoned, w.row.State)
		require.Equal(t, []string{"ABANDONED"}, w.shown)
		require.Empty(t, w.pushes)
	})
	t.Run("calls off a push that waits for its next attempt", func(t *testing.T) {
		w := newWorld(t)
		w.poolDown = 100
		w.at(0, w.signal(workflows.SignalAbandon))
		w.at(safetyWindow+time.Minute, w.CancelWorkflow)
		w.execute(t)
		require.True(t, canceled(w))
		require.Equal(t, []string{"ABANDONED", "REPLAYABLE"}, w.shown)
		require.Len(t, w.pushes, 2)
	})
	t.Run("loses no command that came with it", func(t *testing.T) {
		w := newWorld(t)
		w.at(time.Second, func() {
			w.SignalWorkflowSkippingWorkflowTask(workflows.SignalAbandon, workflows.CommandSignal{})
			w.CancelWorkflow()
		})
		w.execute(t)
		require.True(t, canceled(w))
		require.Equal(t, sequence.Abandoned, w.row.State)
	})
	t.Run("comes too late for a number that is confirmed", func(t *testing.T) {
		w := newWorld(t)
		w.at(time.Second, func() {
			w.SignalWorkflowSkippingWorkflowTask(workflows.SignalConfirm, workflows.CommandSignal{})
			w.CancelWorkflow()
		})
		require.Equal(t, sequence.Confirmed, w.live(t).State)
	})
	t.Run("waits for a ledger that is away", func(t *testing.T) {
		w := newWorld(t)
		w.ledgerDown = true
		w.at(0, w.signal(workflows.SignalConfirm))
		w.at(time.Minute, w.CancelWorkflow)
		w.at(2*time.Minute, func() { w.ledgerDown = false })
		require.Equal(t, sequence.Confirmed, w.live(t).State)
	})
}

func TestAPushThatFailsForGood(t *testing.T) {
	t.Run("fails the run, which shows where the row stands", func(t *testing.T) {
		w := newWorld(t)
		w.poolDown = 100
		w.at(0, w.signal(workflows.SignalAbandon))
		w.execute(t)
		var fault *temporal.ApplicationError
		require.ErrorAs(t, w.GetWorkflowError(), &fault)
		require.Equal(t, activities.ErrorPoolAway, fault.Type())
		require.Len(t, w.pushes, 4)
		require.Equal(t, sequence.Replayable, w.row.State)
		require.Equal(t, []string{"ABANDONED", "REPLAYABLE"}, w.shown)
	})
	t.Run("loses no confirm that came with it", func(t *testing.T) {
		w := newWorld(t)
		w.poolDown = 100
		w.at(0, w.signal(workflows.SignalAbandon))
		w.onPush = func() {
			if len(w.pushes) == 3 { // this is the fourth
				w.SignalWorkflowSkippingWorkflowTask(workflows.SignalConfirm, workflows.CommandSignal{})
			}
		}
		require.Equal(t, sequence.Confirmed, w.live(t).State)
		require.Len(t, w.pushes, 4)
		require.Equal(t, []string{"ABANDONED", "CONFIRMED"}, w.shown)
	})
}
