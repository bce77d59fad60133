package workflows_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// record writes the histories of this run to testdata: go test ./workflows -run Histories -record v2.
var record = flag.String("record", "", "record the histories under this version name")

// rows is a ledger and a pool in memory on the real clock, for lifecycles on a real server.
type rows struct {
	mu       sync.Mutex
	rules    sequence.BizType
	numbers  map[string]*sequence.Number
	pushed   map[string]int
	poolDown bool
	pushing  chan struct{}
}

func (r *rows) Apply(_ context.Context, commands []sequence.Command) ([]sequence.Decision, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	decisions := make([]sequence.Decision, len(commands))
	for i, c := range commands {
		n, ok := r.numbers[c.Ticket.SeqNo]
		if !ok {
			decisions[i].Outcome = sequence.OutcomeNotFound
			continue
		}
		decisions[i] = sequence.Decide(r.rules, *n, c, time.Now())
		*n = decisions[i].Number
	}
	return decisions, nil
}

func (r *rows) Push(_ context.Context, numbers []sequence.Number) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case r.pushing <- struct{}{}:
	default:
	}
	if r.poolDown {
		return errors.New("connection refused")
	}
	for _, n := range numbers {
		r.pushed[n.SeqNo]++
	}
	return nil
}

func (r *rows) Remove(context.Context, []sequence.Number) error { return nil }

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
		rules:   sequence.BizType{Name: "ORDER", ConfirmTimeout: 1500 * time.Millisecond, SafetyWindow: time.Second, MaxReplays: 2},
		numbers: map[string]*sequence.Number{}, pushed: map[string]int{}, pushing: make(chan struct{}, 1),
	}}
	w := worker.New(c, workflows.LifecycleTaskQueue, worker.Options{})
	a := activities.New(l.rows, l.rows, quiet)
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

// end waits for the run to close and gives its result.
func (l *lab) end(t *testing.T, n sequence.Number) workflows.LifecycleResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	var result workflows.LifecycleResult
	require.NoError(t, l.client.GetWorkflow(ctx, n.Ticket().String(), "").Get(ctx, &result))
	return result
}

func (l *lab) history(t *testing.T, n sequence.Number) *historypb.History {
	t.Helper()
	history := &historypb.History{}
	for it := l.client.GetWorkflowHistory(t.Context(), n.Ticket().String(), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		event, err := it.Next()
		require.NoError(t, err)
		history.Events = append(history.Events, event)
	}
	return history
}

func (l *lab) transitions(t *testing.T, n sequence.Number) int64 {
	t.Helper()
	d, err := l.client.DescribeWorkflow(t.Context(), n.Ticket().String(), "")
	require.NoError(t, err)
	return d.RawResponse.GetWorkflowExecutionInfo().GetStateTransitionCount()
}

// stories are the lives whose histories are counted and kept. A story returns when its run is at
// the point where its history is taken.
var stories = map[string]struct {
	maxEvents int
	live      func(t *testing.T, l *lab, n sequence.Number)
}{
	"confirmed": {8, func(t *testing.T, l *lab, n sequence.Number) {
		l.start(t, n, time.Hour)
		l.confirmRow(n)
		require.NoError(t, l.wake(t, n, workflows.SignalConfirm))
		require.Equal(t, sequence.Confirmed, l.end(t, n).State)
	}},
	"confirmed-without-wake": {8, func(t *testing.T, l *lab, n sequence.Number) {
		l.start(t, n, 0)
		l.confirmRow(n)
		require.Equal(t, sequence.Confirmed, l.end(t, n).State)
	}},
	"abandoned": {24, func(t *testing.T, l *lab, n sequence.Number) {
		l.start(t, n, time.Hour)
		require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
		require.Equal(t, sequence.Replayable, l.end(t, n).State)
		require.Equal(t, 1, l.rows.pushed[n.SeqNo])
	}},
	"timed-out": {24, func(t *testing.T, l *lab, n sequence.Number) {
		l.start(t, n, l.rows.rules.ConfirmTimeout)
		require.Equal(t, sequence.Replayable, l.end(t, n).State)
		require.Equal(t, 1, l.rows.pushed[n.SeqNo])
	}},
	"rescued-in-the-window": {24, func(t *testing.T, l *lab, n sequence.Number) {
		l.rows.rules.SafetyWindow = time.Hour
		require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
		testkit.Eventually(t, func() bool { return l.state(n) == sequence.Abandoned }, "the abandon was not settled")
		require.NoError(t, l.wake(t, n, workflows.SignalConfirm))
		require.Equal(t, sequence.Confirmed, l.end(t, n).State)
		require.Zero(t, l.rows.pushed[n.SeqNo])
	}},
	"replay-in-retry": {24, func(t *testing.T, l *lab, n sequence.Number) {
		l.rows.poolDown = true
		require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
		<-l.rows.pushing
	}},
}

func (l *lab) confirmRow(n sequence.Number) {
	_, _ = l.rows.Apply(context.Background(), []sequence.Command{{Kind: sequence.Confirm, Ticket: n.Ticket()}})
}

func (l *lab) state(n sequence.Number) sequence.State {
	l.rows.mu.Lock()
	defer l.rows.mu.Unlock()
	return l.rows.numbers[n.SeqNo].State
}

// What a life costs the server: the counts of design section 5.
func TestHistoriesStayShort(t *testing.T) {
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			n := l.issue(t)
			story.live(t, l, n)
			history := l.history(t, n)
			t.Logf("%d events, %d state transitions", len(history.GetEvents()), l.transitions(t, n))
			require.LessOrEqual(t, len(history.GetEvents()), story.maxEvents)
			if name == "confirmed" {
				require.LessOrEqual(t, l.transitions(t, n), int64(5))
			}
			if *record != "" {
				keep(t, history, name)
			}
		})
	}
}

func keep(t *testing.T, history *historypb.History, name string) {
	t.Helper()
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(history)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(filepath.Join("testdata", name+"."+*record+".json"), text, 0o644))
}

// A replay that fails here fails for every run of that kind that is open when this code is
// deployed: keep what the old history did, behind workflow.GetVersion.
func TestRecordedHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), len(stories), "testdata holds a history of every story")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			replayer := worker.NewWorkflowReplayer()
			workflows.Register(replayer)
			require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), file))
		})
	}
}

// C72: a start delay is the wait for a confirm, never the safety window, and only SignalWithStart
// cuts it short.
func TestStartDelay(t *testing.T) {
	l := newLab(t)
	n := l.issue(t)
	l.rows.rules.ConfirmTimeout = time.Hour
	l.rows.numbers[n.SeqNo].Deadline = time.Now().Add(time.Hour)
	l.start(t, n, time.Hour)

	require.NoError(t, l.client.SignalWorkflow(t.Context(), n.Ticket().String(), "", workflows.SignalConfirm, workflows.CommandSignal{}))
	require.Len(t, l.history(t, n).GetEvents(), 2, "a plain signal is kept and wakes nobody")
	_, err := l.client.QueryWorkflow(t.Context(), n.Ticket().String(), "", workflows.QueryState)
	require.Error(t, err, "a run that has not woken yet answers no query")

	require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
	require.Equal(t, sequence.Confirmed, l.end(t, n).State, "both signals are read")
}

// C07, C09: a life has one run, and every late start or signal is told so.
func TestALifeHasOneRun(t *testing.T) {
	l := newLab(t)
	n := l.issue(t)
	l.start(t, n, time.Hour)
	_, err := l.client.ExecuteWorkflow(t.Context(), workflows.StartOptions(n, time.Hour), workflows.NumberLifecycleName, workflows.Input(n))
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	require.ErrorAs(t, err, &started, "while it is open")

	l.confirmRow(n)
	require.NoError(t, l.wake(t, n, workflows.SignalConfirm))
	require.Equal(t, sequence.Confirmed, l.end(t, n).State)
	require.ErrorAs(t, l.wake(t, n, workflows.SignalAbandon), &started, "after it has closed")
	require.Equal(t, sequence.Confirmed, l.state(n))
	require.Zero(t, l.rows.pushed[n.SeqNo])
}

func TestARunIsReadableFromTheFirstSecond(t *testing.T) {
	l := newLab(t)
	n := l.issue(t)
	l.start(t, n, time.Hour)
	d, err := l.client.DescribeWorkflow(t.Context(), n.Ticket().String(), "")
	require.NoError(t, err)
	summary, err := d.GetStaticSummary()
	require.NoError(t, err)
	require.Equal(t, "ORDER "+n.SeqNo+", life 1, held until "+n.Deadline.UTC().Format("2006-01-02 15:04:05")+" UTC", summary)
	state, ok := d.TypedSearchAttributes.GetKeyword(workflows.AttributeSeqState)
	require.True(t, ok)
	require.Equal(t, "ALLOCATED", state)
}
