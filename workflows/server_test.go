package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// C72: a start delay is the wait for a confirm, never the safety window, and only SignalWithStart
// cuts it short.
func TestStartDelay(t *testing.T) {
	l := newLab(t)
	n := l.issue(t)
	l.hold(n, time.Hour)
	l.start(t, n, time.Hour)

	require.NoError(t, l.client.SignalWorkflow(t.Context(), n.Ticket().String(), "", workflows.SignalConfirm, workflows.CommandSignal{}))
	require.Len(t, testkit.History(t, l.client, n.Ticket().String()).GetEvents(), 2, "a plain signal is kept and wakes nobody")
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
	require.Zero(t, l.pushed(n))
}

// C32: nothing but its row ends a run, so that no timeout can end it without its row, and a reset has all the
// time that it needs.
func TestARunHasNoTimeout(t *testing.T) {
	l := newLab(t)
	n := l.issue(t)
	l.start(t, n, time.Hour)
	waking := l.issue(t)
	l.hold(waking, time.Hour)
	require.NoError(t, l.wake(t, waking, workflows.SignalCheck))
	for _, n := range []sequence.Number{n, waking} {
		d, err := l.client.DescribeWorkflow(t.Context(), n.Ticket().String(), "")
		require.NoError(t, err)
		config := d.RawResponse.GetExecutionConfig()
		require.Zero(t, config.GetWorkflowExecutionTimeout().AsDuration())
		require.Zero(t, config.GetWorkflowRunTimeout().AsDuration())
	}
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

// What somebody types into the UI arrives without a payload, or with anything in it.
func TestSignalsFromOutside(t *testing.T) {
	l := newLab(t)
	n := l.issue(t)
	l.hold(n, time.Hour)
	require.NoError(t, l.wake(t, n, workflows.SignalCheck))
	raw := func(payloads *commonpb.Payloads) {
		_, err := l.client.WorkflowService().SignalWorkflowExecution(t.Context(), &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: n.Ticket().String()},
			SignalName: workflows.SignalConfirm, Input: payloads,
		})
		require.NoError(t, err)
	}
	garbage := &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("binary/unheard-of")}, Data: []byte{0xff}}
	raw(&commonpb.Payloads{Payloads: []*commonpb.Payload{garbage}})
	testkit.Eventually(t, func() bool { return strings.Contains(l.details(t, n), "1 malformed signals") }, "the details do not tell of the malformed signal")
	require.Contains(t, l.details(t, n), "Row: ALLOCATED")

	raw(nil)
	require.Equal(t, sequence.Confirmed, l.end(t, n).State)
	require.Contains(t, l.details(t, n), "confirm by signal: CONFIRMED")
}
