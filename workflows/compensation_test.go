package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// fleet is a Compensation in the SDK's test environment, on many rows that sequence.Decide moves by the
// environment's clock.
type fleet struct {
	*testsuite.TestWorkflowEnvironment
	start time.Time

	mu       sync.Mutex
	rules    sequence.BizType
	rows     map[string]*sequence.Number
	tickets  []string
	pool     map[string]int
	poolDown int // how many pushes fail
	pushes   []time.Duration
	inUse    map[string]bool // by seq no
	silent   map[string]int  // how often the business does not answer
	told     map[string][]activities.ToldCommand
	deaf     func() error // answers instead of the histories
	onTake   func()       // after the look at what is taken
}

// newFleet makes numbers of life 1 whose windows are over and whose runs have closed.
func newFleet(t *testing.T, count int) *fleet {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(slog.New(slog.DiscardHandler))
	f := &fleet{
		TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), start: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC),
		rules: sequence.BizType{Name: "ORDER", ConfirmTimeout: confirmTimeout, SafetyWindow: safetyWindow, MaxReplays: 2, RetryDelays: sequence.DefaultRetryDelays()},
		rows:  map[string]*sequence.Number{}, pool: map[string]int{}, inUse: map[string]bool{}, silent: map[string]int{}, told: map[string][]activities.ToldCommand{},
	}
	f.SetStartTime(f.start)
	f.SetTestTimeout(time.Minute)
	for i := range count {
		n := &sequence.Number{
			ID: int64(i + 1), BizType: "ORDER", SeqNo: fmt.Sprintf("A-%06d", i+1), Value: int64(i + 1), Life: 1, State: sequence.Abandoned, Tracked: true,
			IssuedTime: f.start.Add(-time.Hour), AbandonedTime: f.start.Add(-time.Hour), Deadline: f.start.Add(-time.Minute),
		}
		f.rows[n.SeqNo], f.tickets = n, append(f.tickets, n.Ticket().String())
	}
	activities.NewCompensation(f, f, f, f, slog.New(slog.DiscardHandler)).Register(f)
	workflows.Register(f)
	return f
}

func (f *fleet) Apply(_ context.Context, commands []sequence.Command) ([]sequence.Decision, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	decisions := decideAll(f.rules, f.rows, commands, f.Now())
	if len(commands) > 0 && commands[0].Kind == sequence.Check && f.onTake != nil {
		f.onTake()
		f.onTake = nil
	}
	return decisions, nil
}

func (f *fleet) Push(_ context.Context, entries []sequence.PoolEntry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pushes = append(f.pushes, f.Now().Sub(f.start))
	if f.poolDown > 0 {
		f.poolDown--
		return errors.New("connection refused")
	}
	for _, e := range entries {
		f.pool[e.SeqNo]++
	}
	return nil
}

func (f *fleet) Remove(_ context.Context, entries []sequence.PoolEntry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range entries {
		delete(f.pool, e.SeqNo)
	}
	return nil
}

func (f *fleet) Open(context.Context, sequence.Number) (bool, error) { return false, nil }

func (f *fleet) CompensationOpen(context.Context, string) (bool, error) { return false, nil }

func (f *fleet) Check(context.Context, sequence.Number) (bool, error) { return false, nil }

func (f *fleet) Commands(_ context.Context, n sequence.Number) ([]activities.ToldCommand, error) {
	if f.deaf != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		if err := f.deaf(); err != nil {
			return nil, err
		}
	}
	return f.told[n.SeqNo], nil
}

func (f *fleet) Ask(_ context.Context, _ sequence.Probe, ticket sequence.Ticket) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.silent[ticket.SeqNo] > 0 {
		f.silent[ticket.SeqNo]--
		return false, errors.New("no route to host")
	}
	return f.inUse[ticket.SeqNo], nil
}

func (f *fleet) execute(t *testing.T) workflows.CompensationResult {
	t.Helper()
	f.ExecuteWorkflow(workflows.CompensationName, workflows.CompensationInput{Numbers: activities.Numbers{BizType: "ORDER", Tickets: f.tickets}})
	require.True(t, f.IsWorkflowCompleted())
	require.NoError(t, f.GetWorkflowError())
	var result workflows.CompensationResult
	require.NoError(t, f.GetWorkflowResult(&result))
	return result
}

// states counts the rows by state.
func (f *fleet) states() map[sequence.State]int {
	counts := map[sequence.State]int{}
	for _, n := range f.rows {
		counts[n.State]++
	}
	return counts
}

func (f *fleet) ran() time.Duration { return f.Now().Sub(f.start) }

func (f *fleet) row(seqNo string, change func(n *sequence.Number)) { change(f.rows[seqNo]) }

func TestCompensation(t *testing.T) {
	t.Run("returns numbers to the pool in one push", func(t *testing.T) {
		f := newFleet(t, 1000)
		require.Equal(t, workflows.CompensationResult{Replayed: 1000}, f.execute(t))
		require.Len(t, f.pool, 1000)
		require.Equal(t, []time.Duration{0}, f.pushes)
		require.Equal(t, map[sequence.State]int{sequence.Replayable: 1000}, f.states())
	})
	t.Run("waits out the windows with one timer", func(t *testing.T) {
		f := newFleet(t, 3)
		f.row("A-000001", func(n *sequence.Number) {
			n.State, n.AbandonedTime, n.Deadline = sequence.Allocated, time.Time{}, f.start
		})
		f.row("A-000002", func(n *sequence.Number) {
			n.State, n.AbandonedTime, n.Deadline = sequence.Allocated, time.Time{}, f.start
		})
		require.Equal(t, workflows.CompensationResult{Replayed: 3}, f.execute(t))
		require.Equal(t, []time.Duration{0, safetyWindow}, f.pushes, "what is due goes first")
	})
	t.Run("hears what the closed runs were told, but no guesses", func(t *testing.T) {
		f := newFleet(t, 4)
		issued := f.start.Add(-time.Hour)
		told := func(kind string, at time.Time) activities.ToldCommand {
			return activities.ToldCommand{Command: activities.Command{Kind: kind}, At: at}
		}
		f.told["A-000001"] = []activities.ToldCommand{told("confirm", issued.Add(-time.Hour))} // long before the number was handed out
		f.told["A-000002"] = []activities.ToldCommand{told("abandon", issued), told("confirm", issued.Add(time.Second))}
		f.row("A-000004", func(n *sequence.Number) {
			n.State, n.AbandonedTime, n.Deadline, n.Reason = sequence.Allocated, time.Time{}, f.start, sequence.ReasonRecovered
		})
		f.told["A-000004"] = []activities.ToldCommand{told("confirm", issued.Add(-time.Hour))}   // nobody knows when it was handed out
		f.told["A-000003"] = []activities.ToldCommand{told("confirm", issued.Add(-time.Second))} // its record came late
		require.Equal(t, workflows.CompensationResult{Replayed: 1, Others: 3}, f.execute(t))
		require.Equal(t, map[sequence.State]int{sequence.Replayable: 1, sequence.Confirmed: 3}, f.states())
	})
	t.Run("leaves what is not its own", func(t *testing.T) {
		f := newFleet(t, 4)
		f.row("A-000001", func(n *sequence.Number) { n.TakenUntil = f.start.Add(time.Minute) })
		f.row("A-000002", func(n *sequence.Number) { n.Life = 2 })
		f.row("A-000003", confirmed)
		f.tickets = append(f.tickets, "ORDER~Z-9~1")
		require.Equal(t, workflows.CompensationResult{Replayed: 1, Others: 4}, f.execute(t))
	})
	t.Run("asks no run where none has any", func(t *testing.T) {
		f := newFleet(t, 1_500)
		f.rules.Track = sequence.TrackNone
		f.deaf = func() error { return errors.New("there is no run") }
		for i, ticket := range f.tickets {
			f.row(seqNoOf(t, ticket), func(n *sequence.Number) {
				if n.Tracked = false; i%3 == 0 { // not confirmed in time
					n.State, n.AbandonedTime = sequence.Allocated, time.Time{}
				}
			})
		}
		require.Equal(t, workflows.CompensationResult{Replayed: 1_500}, f.execute(t))
		require.GreaterOrEqual(t, f.ran(), safetyWindow, "those that were given up by it waited their window out")
		require.Len(t, f.pool, 1_500)
	})
	t.Run("goes on with what an attempt took that died", func(t *testing.T) {
		f := newFleet(t, 3)
		died := false
		f.deaf = func() error {
			if died {
				return nil
			}
			died = true
			return errors.New("the worker was killed")
		}
		require.Equal(t, workflows.CompensationResult{Replayed: 3}, f.execute(t))
		require.True(t, died)
	})
	t.Run("retires what was replayed often enough", func(t *testing.T) {
		f := newFleet(t, 2)
		f.row("A-000001", func(n *sequence.Number) { n.Replays = 2 })
		require.Equal(t, workflows.CompensationResult{Replayed: 1, Retired: 1}, f.execute(t))
	})
	t.Run("pauses as a lifecycle does while the pool is away, then leaves them to a person", func(t *testing.T) {
		f := newFleet(t, 5)
		f.poolDown = 100
		require.Equal(t, workflows.CompensationResult{Dead: 5}, f.execute(t))
		require.Equal(t, []time.Duration{0, 30 * time.Second, 150 * time.Second, 450 * time.Second}, f.pushes)
		require.Equal(t, map[sequence.State]int{sequence.Dead: 5}, f.states())
	})
	t.Run("goes on when the pool is back", func(t *testing.T) {
		f := newFleet(t, 5)
		f.poolDown = 2
		f.RegisterDelayedCallback(func() {
			_, _ = f.Apply(context.Background(), []sequence.Command{{Kind: sequence.Confirm, Ticket: f.rows["A-000001"].Ticket()}})
		}, time.Minute)
		require.Equal(t, workflows.CompensationResult{Replayed: 4, Others: 1}, f.execute(t), "a rescue in between is no failure")
		require.Equal(t, 150*time.Second, f.ran())
	})
	t.Run("asks the business about each", func(t *testing.T) {
		f := newFleet(t, 4)
		f.rules.Probe = sequence.Probe{URL: "http://shop/holds", Timeout: time.Second}
		f.inUse["A-000001"], f.silent["A-000002"], f.silent["A-000003"] = true, 1, 100
		require.Equal(t, workflows.CompensationResult{Replayed: 2, Found: 1, Dead: 1}, f.execute(t))
		require.Equal(t, sequence.Dead, f.rows["A-000003"].State)
		require.Equal(t, "no route to host", f.rows["A-000003"].Reason)
		require.NotContains(t, f.pool, "A-000003", "no answer never re-issues")
	})
	t.Run("asks first where a probe is set in the meantime", func(t *testing.T) {
		f := newFleet(t, 120)
		f.poolDown = 1
		f.inUse["A-000002"] = true
		f.row("A-000001", func(n *sequence.Number) {
			n.State, n.AbandonedTime, n.Deadline = sequence.Allocated, time.Time{}, f.start
		})
		f.RegisterDelayedCallback(func() { f.rules.Probe = sequence.Probe{URL: "http://shop/holds", Timeout: time.Second} }, time.Second)
		require.Equal(t, workflows.CompensationResult{Replayed: 120}, f.execute(t), "those that were free already are not asked about")
		f = newFleet(t, 120)
		f.inUse["A-000002"] = true
		f.onTake = func() { f.rules.Probe = sequence.Probe{URL: "http://shop/holds", Timeout: time.Second} }
		require.Equal(t, workflows.CompensationResult{Replayed: 119, Found: 1}, f.execute(t))
	})
	t.Run("waits for a window that is raised in the meantime", func(t *testing.T) {
		f := newFleet(t, 2)
		f.poolDown = 1
		f.row("A-000001", func(n *sequence.Number) { n.AbandonedTime = f.start.Add(-10 * time.Minute) })
		f.rules.SafetyWindow = 20 * time.Minute
		require.Equal(t, workflows.CompensationResult{Replayed: 2}, f.execute(t))
		require.Equal(t, 10*time.Minute, f.ran().Truncate(time.Minute))
	})
	t.Run("that is cancelled leaves its numbers where they are", func(t *testing.T) {
		f := newFleet(t, 2)
		f.poolDown = 100
		f.RegisterDelayedCallback(f.CancelWorkflow, time.Minute)
		f.ExecuteWorkflow(workflows.CompensationName, workflows.CompensationInput{Numbers: activities.Numbers{BizType: "ORDER", Tickets: f.tickets}})
		require.True(t, temporal.IsCanceledError(errors.Unwrap(f.GetWorkflowError())))
		require.Equal(t, map[sequence.State]int{sequence.Replayable: 2}, f.states())
	})
}

func seqNoOf(t *testing.T, ticket string) string {
	t.Helper()
	parsed, err := sequence.ParseTicket(ticket)
	require.NoError(t, err)
	return parsed.SeqNo
}
