package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
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
	window     time.Duration
	ledgerDown bool
	poolDown   int // how many pushes fail
	probe      sequence.Probe
	inUse      bool // what the business says
	silent     int  // how many of its answers are none
	probes     []time.Duration
	onTimeout  sequence.OnTimeout
	onPush     func() // called by every push, the failing ones included
	pushes     []time.Duration
	looks      int
	removed    int
	shown      []string // what SeqState was changed to
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(slog.New(slog.DiscardHandler))
	w := &world{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), maxReplays: 2, window: safetyWindow}
	w.start = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	w.SetStartTime(w.start)
	w.SetTestTimeout(time.Minute)
	w.row = sequence.Number{
		BizType: "ORDER", SeqNo: "A-000001", Value: 1, Life: 1, BatchID: "batch-1", State: sequence.Allocated,
		IssuedTime: w.start, Deadline: w.start.Add(confirmTimeout),
	}
	a := activities.New(w, w, w, slog.New(slog.DiscardHandler))
	t.Cleanup(a.Close)
	a.Register(w)
	workflows.Register(w)
	w.OnUpsertTypedSearchAttributes(mock.Anything).Maybe().Run(func(args mock.Arguments) {
		if attributes, ok := args.Get(0).(temporal.SearchAttributes); ok {
			state, _ := attributes.GetKeyword(workflows.AttributeSeqState)
			w.shown = append(w.shown, state)
		}
	}).Return(nil)
	return w
}

func (w *world) Apply(_ context.Context, commands []sequence.Command) ([]sequence.Decision, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	if w.ledgerDown {
		return nil, &sequence.UnavailableError{What: "the ledger is away"}
	}
	rules := sequence.BizType{Name: "ORDER", ConfirmTimeout: confirmTimeout, SafetyWindow: w.window, MaxReplays: w.maxReplays,
		RetryDelays: sequence.DefaultRetryDelays(), Probe: w.probe, OnTimeout: w.onTimeout}
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

func (w *world) Push(_ context.Context, _ []sequence.PoolEntry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.onPush != nil {
		w.onPush()
	}
	w.pushes = append(w.pushes, w.Now().Sub(w.start))
	if w.poolDown > 0 {
		w.poolDown--
		return errors.New("connection refused")
	}
	return nil
}

func (w *world) Ask(context.Context, sequence.Probe, sequence.Ticket) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.probes = append(w.probes, w.Now().Sub(w.start))
	if w.silent > 0 {
		w.silent--
		return false, errors.New("no route to host")
	}
	return w.inUse, nil
}

func (w *world) Remove(context.Context, []sequence.PoolEntry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removed++
	return nil
}

// at calls f when the run's clock has run for d.
func (w *world) at(d time.Duration, f func()) { w.RegisterDelayedCallback(f, d) }

// change moves the row behind the run's back, as an issuer or another run would.
func (w *world) change(f func(n *sequence.Number)) func() {
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		f(&w.row)
	}
}

func (w *world) signal(name string) func() {
	return func() { w.SignalWorkflow(name, workflows.CommandSignal{}) }
}

// execute runs the lifecycle to its end.
func (w *world) execute(t *testing.T) {
	t.Helper()
	w.ExecuteWorkflow(workflows.NumberLifecycleName, workflows.LifecycleInput{Ticket: "ORDER~A-000001~1"})
	require.True(t, w.IsWorkflowCompleted())
}

// live runs the lifecycle to a good end.
func (w *world) live(t *testing.T) workflows.LifecycleResult {
	t.Helper()
	w.execute(t)
	require.NoError(t, w.GetWorkflowError())
	var result workflows.LifecycleResult
	require.NoError(t, w.GetWorkflowResult(&result))
	return result
}

func (w *world) ran() time.Duration { return w.Now().Sub(w.start) }

// States that others put a row into.

func held(n *sequence.Number) {
	n.Life, n.State, n.Owner, n.Deadline = 0, sequence.Reserved, "issuer-1", time.Time{}
}

func claimed(n *sequence.Number) {
	n.AbandonedTime, n.State, n.Owner, n.Deadline = n.IssuedTime, sequence.Replayed, "issuer-1", time.Time{}
}

func handedBack(n *sequence.Number) { n.State, n.Owner = sequence.Replayable, "" }

func confirmed(n *sequence.Number) {
	n.State, n.ConfirmedTime, n.Deadline = sequence.Confirmed, n.IssuedTime.Add(time.Second), time.Time{}
}
