package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// What Reset in the Temporal UI does to a number.
func TestReset(t *testing.T) {
	dead := func(t *testing.T) (*lab, sequence.Number) {
		t.Helper()
		l := newLab(t)
		n := l.issue(t)
		l.failPushes()
		require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, l.closed(t, n))
		require.Equal(t, sequence.Dead, l.state(n))
		return l, n
	}
	t.Run("to the first task sends a dead number back, and twice is the same as once", func(t *testing.T) {
		l, n := dead(t)
		l.rows.repair()
		testkit.Reset(t, l.client, n.Ticket().String(), testkit.FirstTask)
		require.Equal(t, sequence.Replayable, l.end(t, n).State)
		require.Equal(t, 1, l.pushed(n))
		version := l.version(n)
		testkit.Reset(t, l.client, n.Ticket().String(), testkit.FirstTask)
		require.Equal(t, sequence.Replayable, l.end(t, n).State)
		require.Equal(t, version, l.version(n), "it pushes again, which is harmless, and changes no row")
	})
	t.Run("to the first task, where the cause is not gone, makes one more dead letter", func(t *testing.T) {
		l, n := dead(t)
		testkit.Reset(t, l.client, n.Ticket().String(), testkit.FirstTask)
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, l.closed(t, n))
		require.Equal(t, sequence.Dead, l.state(n), "it does not lift itself again")
	})
	t.Run("to the last task repeats the ending and changes nothing", func(t *testing.T) {
		l, n := dead(t)
		l.rows.repair()
		version := l.version(n)
		testkit.Reset(t, l.client, n.Ticket().String(), testkit.LastTask)
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, l.closed(t, n))
		require.Equal(t, version, l.version(n))
	})
	t.Run("sends a number back that was cancelled", func(t *testing.T) {
		l := newLab(t)
		n := l.issue(t)
		l.hold(n, time.Hour)
		require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
		testkit.Eventually(t, func() bool { return l.state(n) == sequence.Abandoned }, "the abandon was not settled")
		require.NoError(t, l.client.CancelWorkflow(t.Context(), n.Ticket().String(), ""))
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, l.closed(t, n))
		require.Equal(t, sequence.Dead, l.state(n))
		l.hold(n, time.Millisecond)
		testkit.Reset(t, l.client, n.Ticket().String(), testkit.FirstTask) // the server repeats the cancel
		require.Equal(t, sequence.Replayable, l.end(t, n).State)
	})
	// C11: a finished lifecycle that is reset touches nothing but its own life.
	t.Run("of a number that was issued again leaves the new life alone", func(t *testing.T) {
		l := newLab(t)
		n := l.issue(t)
		require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
		require.Equal(t, sequence.Replayable, l.end(t, n).State)
		l.reissue(n)
		for _, to := range []testkit.ResetPoint{testkit.FirstTask, testkit.LastTask} {
			version, pushed := l.version(n), l.pushed(n)
			testkit.Reset(t, l.client, n.Ticket().String(), to)
			l.closed(t, n)
			require.Equal(t, version, l.version(n))
			require.Equal(t, pushed, l.pushed(n))
		}
	})
	t.Run("of a number in its window gives it no second window", func(t *testing.T) {
		l := newLab(t)
		n := l.issue(t)
		l.hold(n, time.Hour)
		require.NoError(t, l.wake(t, n, workflows.SignalAbandon))
		testkit.Eventually(t, func() bool { return l.state(n) == sequence.Abandoned }, "the abandon was not settled")
		version := l.version(n)
		testkit.Eventually(t, func() bool { return l.seqState(t, n) == "ABANDONED" }, "the run does not show it")
		testkit.Reset(t, l.client, n.Ticket().String(), testkit.FirstTask)
		require.NoError(t, l.wake(t, n, workflows.SignalCheck))
		testkit.Eventually(t, func() bool { return l.seqState(t, n) == "ABANDONED" }, "the run does not show it")
		require.Equal(t, version, l.version(n))
		require.NoError(t, l.client.TerminateWorkflow(t.Context(), n.Ticket().String(), "", "the test is over"))
	})
}
