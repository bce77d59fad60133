package workflows_test

import (
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// record writes the histories of this run to testdata: go test ./workflows -run Histories -record v2.
var record = flag.String("record", "", "record the histories under this version name")

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
		require.Equal(t, 1, l.pushed(n))
	}},
	"timed-out": {24, func(t *testing.T, l *lab, n sequence.Number) {
		l.start(t, n, l.rows.rules.ConfirmTimeout)
		require.Equal(t, sequence.Replayable, l.end(t, n).State)
		require.Equal(t, 1, l.pushed(n))
	}},
	"rescued-in-the-window": {24, func(t *testing.T, l *lab, n sequence.Number) {
		l.hold(n, time.Hour)
		require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
		testkit.Eventually(t, func() bool { return l.state(n) == sequence.Abandoned }, "the abandon was not settled")
		require.NoError(t, l.wake(t, n, workflows.SignalConfirm))
		require.Equal(t, sequence.Confirmed, l.end(t, n).State)
		require.Zero(t, l.pushed(n))
	}},
	"cancelled-in-the-window": {24, func(t *testing.T, l *lab, n sequence.Number) {
		l.hold(n, time.Hour)
		require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
		testkit.Eventually(t, func() bool { return l.state(n) == sequence.Abandoned }, "the abandon was not settled")
		require.NoError(t, l.client.CancelWorkflow(t.Context(), n.Ticket().String(), ""))
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, l.closed(t, n))
		require.Equal(t, sequence.Dead, l.state(n))
	}},
	"replay-in-retry": {24, func(t *testing.T, l *lab, n sequence.Number) {
		l.failPushes()
		require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
		<-l.rows.pushing
	}},
	"probed-full-ladder-dead": {40, func(t *testing.T, l *lab, n sequence.Number) {
		l.failPushes()
		l.rows.probe(sequence.Probe{URL: "http://shop/holds", Timeout: time.Second})
		require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, l.closed(t, n))
		require.Equal(t, sequence.Dead, l.state(n))
	}},
	"found-by-probe": {24, func(t *testing.T, l *lab, n sequence.Number) {
		l.rows.probe(sequence.Probe{URL: "http://shop/holds", Timeout: time.Second})
		l.rows.held(n)
		require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
		require.Equal(t, sequence.Confirmed, l.end(t, n).State)
	}},
	"reset-from-dead": {40, func(t *testing.T, l *lab, n sequence.Number) {
		require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
		require.Equal(t, sequence.Replayable, l.end(t, n).State)
		l.bury(n)
		testkit.Reset(t, l.client, n.Ticket().String(), testkit.FirstTask)
		require.Equal(t, sequence.Replayable, l.end(t, n).State)
		require.Equal(t, 2, l.pushed(n))
	}},
}

// What a life costs the server: the counts of design section 5.
func TestHistoriesStayShort(t *testing.T) {
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			n := l.issue(t)
			story.live(t, l, n)
			history := testkit.History(t, l.client, n.Ticket().String())
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

// C47: what was begun by an older version is gone on with by this one.
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
