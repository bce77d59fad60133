package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

const (
	confirmTimeout = 15 * time.Minute
	safetyWindow   = 2 * time.Minute
)

// world is a lifecycle in the SDK's test environment, on one row that sequence.Decide moves by the
// environment's clock. The stores themselves are tested on real servers.
type world struct {
	*testsuite.TestWorkflowEnvironment
	start time.Time

	mu         sync.Mutex
	row        sequence.Number
	missing    bool
	maxReplays int
	ledgerDown bool
	poolDown   int // how many pushes fail
	pushes     []time.Duration
	removed    int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(slog.New(slog.DiscardHandler))
	w := &world{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), maxReplays: 2}
	w.start = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	w.SetStartTime(w.start)
	w.SetTestTimeout(time.Minute)
	w.row = sequence.Number{
		BizType: "ORDER", SeqNo: "A-000001", Value: 1, Life: 1, BatchID: "batch-1", State: sequence.Allocated,
		IssuedTime: w.start, Deadline: w.start.Add(confirmTimeout),
	}
	a := activities.New(w, w, slog.New(slog.DiscardHandler))
	a.Register(w)
	workflows.Register(w)
	return w
}

func (w *world) Apply(_ context.Context, commands []sequence.Command) ([]sequence.Decision, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ledgerDown {
		return nil, &sequence.UnavailableError{What: "the ledger is away"}
	}
	rules := sequence.BizType{Name: "ORDER", ConfirmTimeout: confirmTimeout, SafetyWindow: safetyWindow, MaxReplays: w.maxReplays}
	decisions := make([]sequence.Decision, len(commands))
	for i, c := range commands {
		if w.missing {
			decisions[i].Outcome = sequence.OutcomeNotFound
			continue
		}
		decisions[i] = sequence.Decide(rules, w.row, c, w.Now())
		w.row = decisions[i].Number
	}
	return decisions, nil
}

func (w *world) Push(_ context.Context, _ []sequence.Number) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pushes = append(w.pushes, w.Now().Sub(w.start))
	if w.poolDown > 0 {
		w.poolDown--
		return errors.New("connection refused")
	}
	return nil
}

func (w *world) Remove(context.Context, []sequence.Number) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removed++
	return nil
}

// at signals the run when its clock has run for d.
func (w *world) at(d time.Duration, f func()) { w.RegisterDelayedCallback(f, d) }

func (w *world) signal(name string) func() {
	return func() { w.SignalWorkflow(name, workflows.CommandSignal{}) }
}

// live runs the lifecycle to its end.
func (w *world) live(t *testing.T) workflows.LifecycleResult {
	t.Helper()
	w.ExecuteWorkflow(workflows.NumberLifecycleName, workflows.LifecycleInput{Ticket: "ORDER~A-000001~1"})
	require.True(t, w.IsWorkflowCompleted())
	require.NoError(t, w.GetWorkflowError())
	var result workflows.LifecycleResult
	require.NoError(t, w.GetWorkflowResult(&result))
	return result
}

func (w *world) ran() time.Duration { return w.Now().Sub(w.start) }

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
			Outcome: sequence.OutcomeReplayable, State: sequence.Replayable, Reason: sequence.ReasonReplayed,
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
		w.row.State, w.row.ConfirmedTime, w.row.Deadline = sequence.Confirmed, w.start, time.Time{}
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
				for _, name := range order {
					w.signal(name)()
				}
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

	t.Run("a run whose hand-out is not recorded yet waits for the record", func(t *testing.T) {
		w := newWorld(t)
		recorded := w.row
		w.row.Life, w.row.State, w.row.Owner, w.row.Deadline = 0, sequence.Reserved, "issuer-1", time.Time{}
		w.at(0, w.signal(workflows.SignalConfirm))
		w.at(7*time.Second, func() { w.row = recorded })
		require.Equal(t, sequence.Confirmed, w.live(t).State)
		require.Equal(t, 10*time.Second, w.ran())
	})

	t.Run("a run of a number that was never handed out ends as not found", func(t *testing.T) {
		for name, prepare := range map[string]func(*world){
			"held":    func(w *world) { w.row.Life, w.row.State = 0, sequence.Reserved },
			"missing": func(w *world) { w.missing = true },
		} {
			w := newWorld(t)
			prepare(w)
			w.at(0, w.signal(workflows.SignalConfirm))
			require.Equal(t, sequence.OutcomeNotFound, w.live(t).Outcome, name)
		}
	})

	t.Run("a confirm that meets a claim waits until it is handed back", func(t *testing.T) {
		w := newWorld(t)
		w.row.AbandonedTime = w.start
		w.row.State, w.row.Owner, w.row.Deadline = sequence.Replayed, "issuer-1", time.Time{}
		w.at(0, w.signal(workflows.SignalConfirm))
		w.at(2*time.Second, func() { w.row.State, w.row.Owner, w.row.Deadline = sequence.Replayable, "", w.start })
		require.Equal(t, sequence.Confirmed, w.live(t).State)
	})

	t.Run("cancel ends the run and leaves the row to its deadline", func(t *testing.T) {
		w := newWorld(t)
		w.at(time.Second, w.CancelWorkflow)
		w.ExecuteWorkflow(workflows.NumberLifecycleName, workflows.LifecycleInput{Ticket: "ORDER~A-000001~1"})
		require.True(t, temporal.IsCanceledError(errors.Unwrap(w.GetWorkflowError())))
		require.Equal(t, sequence.Allocated, w.row.State)
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
	t.Run("ends after the fourth attempt", func(t *testing.T) {
		w := newWorld(t)
		w.poolDown = 100
		w.at(0, w.signal(workflows.SignalAbandon))
		w.ExecuteWorkflow(workflows.NumberLifecycleName, workflows.LifecycleInput{Ticket: "ORDER~A-000001~1"})
		var fault *temporal.ApplicationError
		require.ErrorAs(t, w.GetWorkflowError(), &fault)
		require.Equal(t, activities.ErrorPoolAway, fault.Type())
		require.Len(t, w.pushes, 4)
		require.Equal(t, sequence.Replayable, w.row.State, "the row says what is true")
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
	t.Run("is spared for a number that has moved on", func(t *testing.T) { // C14
		w := newWorld(t)
		w.at(0, w.signal(workflows.SignalAbandon))
		w.at(safetyWindow-time.Second, func() { w.row.State, w.row.ConfirmedTime, w.row.Deadline = sequence.Confirmed, w.Now(), time.Time{} })
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
