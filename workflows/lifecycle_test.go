package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

func TestNumberLifecycle(t *testing.T) {
	t.Run("a confirm closes it", func(t *testing.T) {
		w := newWorld(t)
		w.at(time.Second, func() { w.SignalWorkflow(workflows.SignalConfirm, workflows.CommandSignal{BizKey: "o-1"}) })
		require.Equal(t, sequence.Confirmed, w.live(t).State)
		require.Equal(t, "o-1", w.row.BizKey)
		require.Empty(t, w.pushes)
	})

	t.Run("an abandon returns the number to the pool after the window, not before", func(t *testing.T) {
		w := newWorld(t)
		w.at(time.Second, w.signal(workflows.SignalAbandon))
		require.Equal(t, workflows.LifecycleResult{
			Outcome: sequence.OutcomeReplayable, State: sequence.Replayable, Reason: sequence.ReasonAbandoned,
		}, w.live(t))
		require.Len(t, w.pushes, 1)
		require.Equal(t, time.Second+safetyWindow, w.pushes[0])
	})

	t.Run("silence counts as an abandonment", func(t *testing.T) {
		w := newWorld(t)
		require.Equal(t, sequence.Replayable, w.live(t).State)
		require.Equal(t, []time.Duration{confirmTimeout + safetyWindow}, w.pushes)
	})

	t.Run("a number that was confirmed at the ledger closes at its deadline", func(t *testing.T) {
		w := newWorld(t)
		confirmed(&w.row)
		require.Equal(t, sequence.Confirmed, w.live(t).State)
		require.Zero(t, w.ran())
	})

	t.Run("a confirm during the window rescues", func(t *testing.T) {
		w := newWorld(t)
		w.at(time.Second, w.signal(workflows.SignalAbandon))
		w.at(time.Minute, w.signal(workflows.SignalConfirm))
		require.Equal(t, sequence.Confirmed, w.live(t).State)
		require.Empty(t, w.pushes)
		require.Equal(t, time.Minute, w.ran())
		require.Equal(t, 1, w.removed)
	})

	// C08: the SDK keeps no order between two channels, and none is needed.
	for _, order := range [][]string{
		{workflows.SignalConfirm, workflows.SignalAbandon},
		{workflows.SignalAbandon, workflows.SignalConfirm},
	} {
		t.Run(order[0]+" and "+order[1]+" in one task end confirmed", func(t *testing.T) {
			w := newWorld(t)
			w.at(time.Second, func() {
				w.SignalWorkflowSkippingWorkflowTask(order[0], workflows.CommandSignal{})
				w.SignalWorkflow(order[1], workflows.CommandSignal{})
			})
			require.Equal(t, sequence.Confirmed, w.live(t).State)
		})
	}

	t.Run("a confirm just before the deadline beats it", func(t *testing.T) {
		w := newWorld(t)
		w.at(confirmTimeout-time.Millisecond, w.signal(workflows.SignalConfirm))
		require.Equal(t, sequence.Confirmed, w.live(t).State)
	})

	t.Run("signals that repeat change nothing", func(t *testing.T) {
		w := newWorld(t)
		for i := range 5 {
			w.at(time.Duration(i+1)*time.Second, w.signal(workflows.SignalAbandon))
		}
		require.Equal(t, sequence.Replayable, w.live(t).State)
		require.Equal(t, []time.Duration{time.Second + safetyWindow}, w.pushes)
	})

	t.Run("a malformed signal is counted and changes nothing", func(t *testing.T) {
		w := newWorld(t)
		garbage := converter.NewRawValue(&commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`{"bizKey":7}`)})
		w.at(time.Second, func() {
			w.SignalWorkflow(workflows.SignalConfirm, garbage)
			w.SignalWorkflow(workflows.SignalConfirm, "not an object")
			w.SignalWorkflow(workflows.SignalConfirm, workflows.CommandSignal{BizKey: "a\x00b"})
		})
		w.at(2*time.Second, func() {
			value, err := w.QueryWorkflow(workflows.QueryState)
			require.NoError(t, err)
			var state workflows.LifecycleState
			require.NoError(t, value.Get(&state))
			require.Equal(t, workflows.LifecycleState{
				Ticket: "ORDER~A-000001~1", State: sequence.Allocated, Until: w.start.Add(confirmTimeout), Signals: 3, Malformed: 3,
			}, state)
		})
		require.Equal(t, sequence.Replayable, w.live(t).State)
	})

	t.Run("a signal without a payload is a plain one", func(t *testing.T) {
		w := newWorld(t)
		w.at(time.Second, func() { w.SignalWorkflow(workflows.SignalConfirm, nil) })
		require.Equal(t, sequence.Confirmed, w.live(t).State)
	})

	t.Run("checks beyond the hundredth are left unread, a confirm is not", func(t *testing.T) {
		w := newWorld(t)
		for i := range 150 {
			w.at(time.Duration(i+1)*time.Second, func() { w.SignalWorkflow(workflows.SignalCheck, nil) })
		}
		settles := 0
		w.SetOnLocalActivityStartedListener(func(*activity.Info, context.Context, []any) { settles++ })
		w.at(200*time.Second, w.signal(workflows.SignalConfirm))
		require.Equal(t, sequence.Confirmed, w.live(t).State)
		require.Equal(t, 102, settles)
	})

	t.Run("a number that was replayed as often as allowed is retired", func(t *testing.T) {
		w := newWorld(t)
		w.maxReplays = 0
		w.at(time.Second, w.signal(workflows.SignalAbandon))
		require.Equal(t, workflows.LifecycleResult{
			Outcome: sequence.OutcomeRetired, State: sequence.Retired, Reason: sequence.ReasonReplayCap,
		}, w.live(t))
		require.Empty(t, w.pushes)
	})

	t.Run("a run of a life that is over closes at once", func(t *testing.T) {
		w := newWorld(t)
		w.row.Life = 2
		require.Equal(t, sequence.OutcomeSuperseded, w.live(t).Outcome)
		require.Zero(t, w.ran())
	})

	t.Run("an input that is no ticket fails for good", func(t *testing.T) {
		w := newWorld(t)
		w.ExecuteWorkflow(workflows.NumberLifecycleName, workflows.LifecycleInput{Ticket: "nonsense"})
		var fault *temporal.ApplicationError
		require.ErrorAs(t, w.GetWorkflowError(), &fault)
		require.Equal(t, activities.ErrorInvalidInput, fault.Type())
		require.True(t, fault.NonRetryable())
	})
}
