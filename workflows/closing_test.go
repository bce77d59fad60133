package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

func TestCancel(t *testing.T) {
	canceled := func(w *world) bool { return temporal.IsCanceledError(errors.Unwrap(w.GetWorkflowError())) }

	t.Run("leaves a number that waits for its confirm to a person", func(t *testing.T) {
		w := newWorld(t)
		w.at(time.Second, w.CancelWorkflow)
		w.execute(t)
		require.True(t, canceled(w))
		require.Equal(t, time.Second, w.ran())
		require.Equal(t, sequence.Dead, w.row.State)
		require.Equal(t, sequence.ReasonCancelled, w.row.Reason)
		require.Equal(t, []string{"DEAD"}, w.shown)
	})
	t.Run("keeps a number in its window out of the pool", func(t *testing.T) {
		w := newWorld(t)
		w.at(0, w.signal(workflows.SignalAbandon))
		w.at(time.Minute, w.CancelWorkflow)
		w.execute(t)
		require.True(t, canceled(w))
		require.Equal(t, sequence.Dead, w.row.State)
		require.Equal(t, []string{"ABANDONED", "DEAD"}, w.shown)
		require.Empty(t, w.pushes)
	})
	t.Run("calls off a push that waits for its next attempt", func(t *testing.T) {
		w := newWorld(t)
		w.poolDown = 100
		w.at(0, w.signal(workflows.SignalAbandon))
		w.at(safetyWindow+time.Minute, w.CancelWorkflow)
		w.execute(t)
		require.True(t, canceled(w))
		require.Equal(t, sequence.Dead, w.row.State, "also where the row was free already")
		require.Equal(t, []string{"ABANDONED", "DEAD"}, w.shown)
		require.Len(t, w.pushes, 2)
		require.Equal(t, 1, w.removed, "a push whose answer was lost may have put it there")
	})
	t.Run("loses no command that came with it", func(t *testing.T) {
		w := newWorld(t)
		w.at(time.Second, func() {
			w.SignalWorkflowSkippingWorkflowTask(workflows.SignalAbandon, workflows.CommandSignal{})
			w.CancelWorkflow()
		})
		w.execute(t)
		require.True(t, canceled(w))
		require.Equal(t, sequence.Dead, w.row.State)
	})
	t.Run("reaches a number whose hand-out is recorded after it", func(t *testing.T) {
		w := newWorld(t)
		allocated := w.row
		held(&w.row)
		w.at(time.Second, w.CancelWorkflow)
		w.at(4*time.Second, w.change(func(n *sequence.Number) { *n = allocated }))
		w.execute(t)
		require.True(t, canceled(w))
		require.Equal(t, sequence.Dead, w.row.State)
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

// deadLetter expects the run to have failed as a dead letter.
func deadLetter(t *testing.T, w *world) {
	t.Helper()
	var fault *temporal.ApplicationError
	require.ErrorAs(t, w.GetWorkflowError(), &fault)
	require.Equal(t, workflows.ErrorDeadLetter, fault.Type())
	require.Equal(t, sequence.Dead, w.row.State)
	require.Equal(t, "DEAD", w.shown[len(w.shown)-1])
}

func TestDeadLetter(t *testing.T) {
	t.Run("is what a number becomes that cannot be pushed", func(t *testing.T) {
		w := newWorld(t)
		w.poolDown = 100
		w.at(0, w.signal(workflows.SignalAbandon))
		w.execute(t)
		deadLetter(t, w)
		require.Len(t, w.pushes, 4)
		require.Equal(t, "connection refused", w.row.Reason)
	})
	t.Run("is stored however long the ledger is away", func(t *testing.T) {
		w := newWorld(t)
		w.poolDown = 100
		w.at(0, w.signal(workflows.SignalAbandon))
		w.onPush = func() { w.ledgerDown = len(w.pushes) == 3 }
		w.at(11*time.Minute, func() { w.ledgerDown = false })
		w.execute(t)
		deadLetter(t, w)
		require.GreaterOrEqual(t, w.ran(), 11*time.Minute)
	})
	t.Run("is what silence becomes where the biz type says so", func(t *testing.T) {
		w := newWorld(t)
		w.onTimeout = sequence.OnTimeoutDeadLetter
		w.execute(t)
		deadLetter(t, w)
		require.Equal(t, confirmTimeout, w.ran())
		require.Empty(t, w.pushes)
	})
	t.Run("is no name for a number that was issued again meanwhile", func(t *testing.T) {
		w := newWorld(t)
		w.poolDown = 100
		w.at(0, w.signal(workflows.SignalAbandon))
		w.onPush = func() {
			if len(w.pushes) == 3 { // the fourth push arrives, although its answer does not
				w.row.Life, w.row.State, w.row.Deadline = 2, sequence.Allocated, w.Now().Add(time.Hour)
			}
		}
		require.Equal(t, sequence.OutcomeSuperseded, w.live(t).Outcome)
		require.Equal(t, sequence.Allocated, w.row.State)
	})
	t.Run("closes a run that finds it, and is not lifted by one that was not reset", func(t *testing.T) {
		w := newWorld(t)
		w.row.State, w.row.Deadline, w.row.Reason = sequence.Dead, time.Time{}, "because"
		w.execute(t)
		deadLetter(t, w)
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

func TestProbe(t *testing.T) {
	probe := sequence.Probe{URL: "http://shop/holds", Timeout: time.Second}
	t.Run("that finds the number in use confirms it", func(t *testing.T) {
		w := newWorld(t)
		w.probe, w.inUse = probe, true
		w.at(0, w.signal(workflows.SignalAbandon))
		result := w.live(t)
		require.Equal(t, sequence.Confirmed, result.State)
		require.Equal(t, sequence.ReasonFound, result.Reason)
		require.Equal(t, []time.Duration{safetyWindow}, w.probes, "not before the window is over")
		require.Empty(t, w.pushes)
	})
	t.Run("that does not find it lets it go", func(t *testing.T) {
		w := newWorld(t)
		w.probe = probe
		w.at(0, w.signal(workflows.SignalAbandon))
		require.Equal(t, sequence.Replayable, w.live(t).State)
		require.Len(t, w.probes, 1)
	})
	t.Run("without an answer climbs the ladder, and re-issues nothing", func(t *testing.T) {
		w := newWorld(t)
		w.probe, w.silent = probe, 100
		w.at(0, w.signal(workflows.SignalAbandon))
		w.execute(t)
		deadLetter(t, w)
		require.Equal(t, []time.Duration{
			safetyWindow, safetyWindow + 30*time.Second, safetyWindow + 150*time.Second, safetyWindow + 450*time.Second,
		}, w.probes)
		require.Empty(t, w.pushes)
		require.Equal(t, "no route to host", w.row.Reason)
	})
	t.Run("is open to a confirm", func(t *testing.T) {
		w := newWorld(t)
		w.probe, w.silent = probe, 100
		w.at(0, w.signal(workflows.SignalAbandon))
		w.at(safetyWindow+time.Minute, w.signal(workflows.SignalConfirm))
		require.Equal(t, sequence.Confirmed, w.live(t).State)
	})
	t.Run("that is set while a number is being replayed is asked first", func(t *testing.T) {
		w := newWorld(t)
		w.at(0, w.signal(workflows.SignalAbandon))
		w.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) { w.probe = probe })
		require.Equal(t, sequence.Replayable, w.live(t).State)
		require.Len(t, w.probes, 1)
	})
}
