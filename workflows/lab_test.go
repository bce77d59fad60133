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
	enumspb "go.temporal.io/api/enums/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// rows is a ledger and a pool in memory on the real clock, for lifecycles on a real server.
type rows struct {
	mu       sync.Mutex
	rules    sequence.BizType
	numbers  map[string]*sequence.Number
	pushed   map[string]int
	inUse    map[string]bool // what the business says
	poolDown bool
	pushing  chan struct{}
}

func (r *rows) Apply(_ context.Context, commands []sequence.Command) ([]sequence.Decision, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return decideAll(r.rules, r.numbers, commands, time.Now()), nil
}

// decideAll is a ledger in memory: it moves the rows, by seq no, as sequence.Decide says.
func decideAll(rules sequence.BizType, rows map[string]*sequence.Number, commands []sequence.Command, now time.Time) []sequence.Decision {
	decisions := make([]sequence.Decision, len(commands))
	for i, c := range commands {
		n, ok := rows[c.Ticket.SeqNo]
		if !ok {
			decisions[i].Outcome = sequence.OutcomeNotFound
			continue
		}
		decisions[i] = sequence.Decide(rules, *n, c, now)
		*n = decisions[i].Number
	}
	return decisions
}

func (r *rows) Push(_ context.Context, entries []sequence.PoolEntry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case r.pushing <- struct{}{}:
	default:
	}
	if r.poolDown {
		return errors.New("connection refused")
	}
	for _, e := range entries {
		r.pushed[e.SeqNo]++
	}
	return nil
}

// probe makes the biz type ask the business, which holds nothing but what held says.
func (r *rows) probe(p sequence.Probe) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules.Probe, r.inUse = p, map[string]bool{}
}

func (r *rows) held(n sequence.Number) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inUse[n.SeqNo] = true
}

func (r *rows) Ask(_ context.Context, _ sequence.Probe, ticket sequence.Ticket) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inUse[ticket.SeqNo], nil
}

func (r *rows) Remove(context.Context, []sequence.PoolEntry) error { return nil }

// lab is a worker on a real server, and a ledger in memory.
type lab struct {
	client client.Client
	rows   *rows
}

func newLab(t *testing.T) *lab {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	c, err := client.Dial(client.Options{HostPort: testkit.Temporal(t), Identity: "lab", Logger: log.NewStructuredLogger(quiet)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	l := &lab{client: c, rows: &rows{
		rules:   sequence.BizType{Name: "ORDER", ConfirmTimeout: 1500 * time.Millisecond, SafetyWindow: time.Second, MaxReplays: 2, RetryDelays: []time.Duration{50 * time.Millisecond, 100 * time.Millisecond}},
		numbers: map[string]*sequence.Number{}, pushed: map[string]int{}, pushing: make(chan struct{}, 1),
	}}
	w := worker.New(c, workflows.LifecycleTaskQueue, worker.Options{})
	a := activities.New(l.rows, l.rows, l.rows, quiet)
	a.Register(w)
	workflows.Register(w)
	require.NoError(t, w.Start())
	t.Cleanup(func() { w.Stop(); a.Close() })
	return l
}

// issue makes a number that was just handed out, without its run.
func (l *lab) issue(t *testing.T) sequence.Number {
	t.Helper()
	l.rows.mu.Lock()
	defer l.rows.mu.Unlock()
	now := time.Now()
	n := sequence.Number{
		BizType: "ORDER", SeqNo: fmt.Sprintf("T-%d", now.UnixNano()), Value: now.UnixNano(), Life: 1, BatchID: "batch-1",
		State: sequence.Allocated, IssuedTime: now, Deadline: now.Add(l.rows.rules.ConfirmTimeout),
	}
	l.rows.numbers[n.SeqNo] = &n
	return n
}

func (l *lab) start(t *testing.T, n sequence.Number, left time.Duration) {
	t.Helper()
	_, err := l.client.ExecuteWorkflow(t.Context(), workflows.StartOptions(n, left), workflows.NumberLifecycleName, workflows.Input(n))
	require.NoError(t, err)
}

func (l *lab) wake(t *testing.T, n sequence.Number, signal string) error {
	t.Helper()
	_, err := l.client.SignalWithStartWorkflow(t.Context(), n.Ticket().String(), signal, workflows.CommandSignal{},
		workflows.WakeOptions(n), workflows.NumberLifecycleName, workflows.Input(n))
	return err
}

// end waits for the run to close and gives its result, which SeqState shows too.
func (l *lab) end(t *testing.T, n sequence.Number) workflows.LifecycleResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	var result workflows.LifecycleResult
	require.NoError(t, l.client.GetWorkflow(ctx, n.Ticket().String(), "").Get(ctx, &result))
	require.Equal(t, result.State.String(), l.seqState(t, n))
	return result
}

// closed waits for the run to close and gives its status.
func (l *lab) closed(t *testing.T, n sequence.Number) enumspb.WorkflowExecutionStatus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	_ = l.client.GetWorkflow(ctx, n.Ticket().String(), "").Get(ctx, nil) // the status says how it closed
	d, err := l.client.DescribeWorkflow(ctx, n.Ticket().String(), "")
	require.NoError(t, err)
	return d.Status
}

func (l *lab) transitions(t *testing.T, n sequence.Number) int64 {
	t.Helper()
	d, err := l.client.DescribeWorkflow(t.Context(), n.Ticket().String(), "")
	require.NoError(t, err)
	return d.RawResponse.GetWorkflowExecutionInfo().GetStateTransitionCount()
}

func (l *lab) confirmRow(n sequence.Number) {
	_, _ = l.rows.Apply(context.Background(), []sequence.Command{{Kind: sequence.Confirm, Ticket: n.Ticket()}})
}

func (l *lab) state(n sequence.Number) sequence.State {
	l.rows.mu.Lock()
	defer l.rows.mu.Unlock()
	return l.rows.numbers[n.SeqNo].State
}

// hold gives the number a deadline and a window that no test waits for.
func (l *lab) hold(n sequence.Number, d time.Duration) {
	l.rows.mu.Lock()
	defer l.rows.mu.Unlock()
	l.rows.rules.SafetyWindow = d
	l.rows.numbers[n.SeqNo].Deadline = time.Now().Add(d)
}

// details are what an operator reads of the run in the UI.
func (l *lab) details(t *testing.T, n sequence.Number) string {
	t.Helper()
	value, err := l.client.QueryWorkflow(t.Context(), n.Ticket().String(), "", "__temporal_workflow_metadata")
	require.NoError(t, err)
	var metadata sdkpb.WorkflowMetadata
	require.NoError(t, value.Get(&metadata))
	return metadata.GetCurrentDetails()
}

// seqState is what the run's search attribute says.
func (l *lab) seqState(t *testing.T, n sequence.Number) string {
	t.Helper()
	d, err := l.client.DescribeWorkflow(t.Context(), n.Ticket().String(), "")
	require.NoError(t, err)
	state, _ := d.TypedSearchAttributes.GetKeyword(workflows.AttributeSeqState)
	return state
}

func (l *lab) pushed(n sequence.Number) int {
	l.rows.mu.Lock()
	defer l.rows.mu.Unlock()
	return l.rows.pushed[n.SeqNo]
}

func (l *lab) failPushes() {
	l.rows.mu.Lock()
	defer l.rows.mu.Unlock()
	l.rows.poolDown = true
}

// bury makes a number that is free a dead letter, as a person would find it.
func (l *lab) bury(n sequence.Number) {
	_, _ = l.rows.Apply(context.Background(), []sequence.Command{{Kind: sequence.Bury, Ticket: n.Ticket(), Cause: sequence.CausePoolAway, Reason: "connection refused"}})
}

func (r *rows) repair() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.poolDown = false
}

// reissue hands the free number out once more.
func (l *lab) reissue(n sequence.Number) {
	l.rows.mu.Lock()
	defer l.rows.mu.Unlock()
	row := l.rows.numbers[n.SeqNo]
	row.State, row.Life, row.Version, row.Deadline = sequence.Allocated, row.Life+1, row.Version+1, time.Now().Add(time.Hour)
}

func (l *lab) version(n sequence.Number) int64 {
	l.rows.mu.Lock()
	defer l.rows.mu.Unlock()
	return l.rows.numbers[n.SeqNo].Version
}
