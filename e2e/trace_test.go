package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// A life is one trace, that of the call that handed the number out, over both processes and through Temporal, and
// the calls that settle it are traces of their callers, linked to it.
func TestTraces(t *testing.T) {
	c := newCollector(t)
	s := newStack(t, c.env()...)
	caller := func(i int) (trace string, header http.Header) {
		trace = fmt.Sprintf("0af7651916cd43dd8448eb211c8031%02x", i)
		return trace, http.Header{"Traceparent": {"00-" + trace + "-b7ad6b7169203331-01"}}
	}
	next := func(t *testing.T, header http.Header) (ticket, seqNo string) {
		t.Helper()
		status, answer := s.postWith(t, header, "SequenceService/Next", `{"bizType":"DEMO"}`)
		require.Equal(t, http.StatusOK, status, "%v", answer)
		number := answer["numbers"].([]any)[0].(map[string]any)
		return number["ticket"].(string), number["seqNo"].(string)
	}
	sees := func(t *testing.T, trace string, prefixes ...string) {
		t.Helper()
		for _, prefix := range prefixes {
			testkit.Eventually(t, func() bool { return len(c.find(trace, prefix)) > 0 }, "the trace has no span %q", prefix)
		}
	}
	linked := func(t *testing.T, trace, prefix, to string) {
		t.Helper()
		testkit.Eventually(t, func() bool { return c.linked(trace, prefix, to) }, "no span %q has the link", prefix)
	}
	defer func() {
		for _, s := range c.find("", "") {
			if t.Failed() && strings.HasPrefix(s.trace, "0af7") {
				t.Logf("%s %s < %s  %s %v", s.trace, s.id, s.parent, s.name, s.links)
			}
		}
	}()

	first, header := caller(1)
	ticket, seqNo := next(t, header)
	s.awaitRun(t, ticket)
	require.Equal(t, first, s.row(t, "DEMO", seqNo).Trace[3:35])

	t.Run("a life goes on from its caller's, and an abandon's is linked to it both ways", func(t *testing.T) {
		abandon, header := caller(2)
		status, answer := s.postWith(t, header, "SequenceService/Abandon", `{"ticket":"`+ticket+`"}`)
		require.Equal(t, http.StatusOK, status, "%v", answer)
		s.awaitState(t, "DEMO", seqNo, sequence.Replayable)
		sees(t, first, "lacuna-starter lacuna.v1.SequenceService/Next", "lacuna-starter record", "lacuna-starter number RECORDED",
			"lacuna-starter StartWorkflow:NumberLifecycle", "lacuna-starter number ABANDONED", "lacuna-starter wake", "lacuna-starter SignalWithStartWorkflow:NumberLifecycle",
			"lacuna-worker RunWorkflow:NumberLifecycle", "lacuna-worker HandleSignal:abandon", "lacuna-worker RunActivity:Settle",
			"lacuna-worker RunActivity:Replay", "lacuna-worker apply", "lacuna-worker number REPLAYABLE", "lacuna-worker push", "lacuna-worker redis.pipeline zadd")
		sees(t, abandon, "lacuna-starter lacuna.v1.SequenceService/Abandon", "lacuna-starter settle", "lacuna-starter sql")
		linked(t, abandon, "lacuna-starter lacuna.v1.SequenceService/Abandon", first)
		linked(t, first, "lacuna-starter wake", abandon)
		linked(t, first, "lacuna-starter number ABANDONED", abandon)
		require.Empty(t, c.find(abandon, "lacuna-worker"), "the life stays its own trace")
	})

	t.Run("the worker's statements are below the activity, and that below the run and the call", func(t *testing.T) {
		testkit.Eventually(t, func() bool {
			for _, sql := range c.find(first, "lacuna-worker sql") {
				if c.descends(sql, "lacuna-worker RunActivity:Settle") && c.descends(sql, "lacuna-worker RunWorkflow:NumberLifecycle") &&
					c.descends(sql, "lacuna-starter StartWorkflow:NumberLifecycle") && c.descends(sql, "lacuna-starter lacuna.v1.SequenceService/Next") {
					return true
				}
			}
			return false
		}, "there is no such statement")
	})

	t.Run("the next life is of its own call's trace, linked to the life before", func(t *testing.T) {
		second, header := caller(3)
		var again string
		testkit.Eventually(t, func() bool {
			var got string
			again, got = next(t, header)
			return got == seqNo
		}, "it is not issued again")
		testkit.Eventually(t, func() bool {
			return s.row(t, "DEMO", seqNo).Trace != "" && s.row(t, "DEMO", seqNo).Trace[3:35] == second
		}, "the row has the old trace")
		linked(t, second, "lacuna-starter lacuna.v1.SequenceService/Next", first)
		confirm, header := caller(4)
		status, answer := s.postWith(t, header, "SequenceService/Confirm", `{"ticket":"`+again+`"}`)
		require.Equal(t, http.StatusOK, status, "%v", answer)
		linked(t, confirm, "lacuna-starter lacuna.v1.SequenceService/Confirm", second)
		linked(t, second, "lacuna-starter number CONFIRMED", confirm)
		sees(t, second, "lacuna-worker RunWorkflow:NumberLifecycle")
	})

	t.Run("a run that the patrol has to start is of its number's trace", func(t *testing.T) {
		lost, header := caller(5)
		s.worker.Kill()
		s.temporal.Kill() // what starts is told to it waits in the starter, and dies with that
		_, seqNo := next(t, header)
		testkit.Eventually(t, func() bool { return s.row(t, "DEMO", seqNo).State == sequence.Allocated }, "it is not recorded")
		s.starter.Kill()
		require.NoError(t, s.temporal.Restart(t.Context()))
		s.restart(t, s.starter)
		s.restart(t, s.worker)
		sees(t, lost, "lacuna-worker check", "lacuna-worker RunWorkflow:NumberLifecycle", "lacuna-worker number EXPIRED")
	})

	t.Run("a call whose caller does not sample leaves no trace anywhere", func(t *testing.T) {
		quiet, _ := caller(6)
		ticket, seqNo := next(t, http.Header{"Traceparent": {"00-" + quiet + "-b7ad6b7169203331-00"}})
		require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", ticket))
		require.Empty(t, s.row(t, "DEMO", seqNo).Trace)
		sees(t, "", "lacuna-worker RunWorkflow:Patrol")
		require.Empty(t, c.find(quiet, ""))
		for _, run := range c.find("", "lacuna-worker RunWorkflow:NumberLifecycle") {
			require.NotEqual(t, ticket, run.attributes["temporalWorkflowID"])
		}
	})
}
