package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// What a killed starter held is neither lost nor handed out twice (C40).
func TestAKilledStartersNumbersComeBack(t *testing.T) {
	s := newStack(t)
	confirmed, _ := s.next(t, "DEMO")
	require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", confirmed))
	late, lateNo := s.next(t, "DEMO") // its record may be on its way when the starter dies
	s.starter.Kill()
	require.Positive(t, s.count(t, "status = 0"), "the starter held numbers")
	s.restart(t, s.starter)

	testkit.Eventually(t, func() bool {
		switch s.settle(t, "Confirm", late) {
		case "OUTCOME_CONFIRMED", "OUTCOME_ALREADY_CONFIRMED", "OUTCOME_RESCUED":
			return true
		}
		return false
	}, "a caller that got a number just before the kill could not confirm it")
	again, _ := s.next(t, "DEMO")
	require.NotEqual(t, late, again)

	var dead string
	require.NoError(t, s.ledger.DB().QueryRow("SELECT id FROM t_seq_issuer ORDER BY started_time LIMIT 1").Scan(&dead))
	testkit.Eventually(t, func() bool { return s.count(t, "owner = '"+dead+"'") == 0 }, "the patrol did not recover what it held")
	testkit.Eventually(t, func() bool {
		return s.count(t, "status IN (1, 3)") == 0 && s.count(t, "status = 4 AND reason = '"+sequence.ReasonNotConfirmed+"'") >= 8
	}, "the numbers did not come back")
	require.Equal(t, sequence.Confirmed, s.row(t, "DEMO", lateNo).State)
	require.Zero(t, s.count(t, "replays > 0"))
	s.closure(t)
}

// A number whose lifecycle was never started, or was lost with Temporal's memory, is found (C12, C67).
func TestANumberWithoutARunIsFound(t *testing.T) {
	s := newStack(t)
	ticket, seqNo := s.next(t, "DEMO")
	s.awaitRun(t, ticket)
	_, err := s.ledger.DB().Exec(`INSERT INTO t_seq_issue_log (biz_type, seq_no, value, batch_id, status, life, tracked, issued_time, deadline)
		SELECT biz_type, 'D-999999', 999999, batch_id, 1, 1, 1, issued_time, deadline FROM t_seq_issue_log WHERE seq_no = ?`, seqNo)
	require.NoError(t, err)
	s.awaitState(t, "DEMO", "D-999999", sequence.Replayable)
	s.awaitClosed(t, "DEMO~D-999999~1")
	d, err := s.client.DescribeWorkflow(t.Context(), "DEMO~D-999999~1", "")
	require.NoError(t, err)
	state, ok := d.TypedSearchAttributes.GetKeyword(workflows.AttributeSeqState)
	require.True(t, ok)
	require.Equal(t, "REPLAYABLE", state, "the run that the patrol starts is as readable as any")
	summary, err := d.GetStaticSummary()
	require.NoError(t, err)
	require.Contains(t, summary, "DEMO D-999999, life 1")
}

// A run that was terminated leaves its row to the patrol (C30): in time, abandoned, and with a
// confirm that it was sent and never read.
func TestATerminatedRunsNumberIsSeenTo(t *testing.T) {
	s := newStack(t)
	terminate := func(ticket string) {
		s.awaitRun(t, ticket)
		require.NoError(t, s.client.TerminateWorkflow(t.Context(), ticket, "", "a test"))
	}
	s.put(t, `{"name":"LONG","format":"L-{seq:6}","confirmTimeout":"600s","safetyWindow":"1s"}`)
	kept, _ := s.next(t, "LONG")
	s.awaitRun(t, kept)
	lost, lostNo := s.next(t, "LONG")
	terminate(lost)
	runs := s.operate(t, "CheckPool", `{"bizType":"LONG","runs":true}`)["runs"].([]any)[0].(map[string]any)
	require.Equal(t, "2", runs["tracked"])
	require.Equal(t, []any{lostNo}, runs["missing"].(map[string]any)["seqNos"], "it is not overdue yet, but an operator sees it")

	silent, silentNo := s.next(t, "DEMO")
	terminate(silent)
	abandoned, abandonedNo := s.next(t, "DEMO")
	terminate(abandoned)
	require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", abandoned), "the answer comes from the row")
	told, toldNo := s.next(t, "DEMO")
	s.awaitRun(t, told)
	require.NoError(t, s.client.SignalWorkflow(t.Context(), told, "", workflows.SignalConfirm, workflows.CommandSignal{BizKey: "o-7"}))
	terminate(told)

	s.awaitState(t, "DEMO", silentNo, sequence.Replayable)
	s.awaitState(t, "DEMO", abandonedNo, sequence.Replayable)
	require.Equal(t, "o-7", s.awaitState(t, "DEMO", toldNo, sequence.Confirmed).BizKey)
	s.closure(t)
}

// Free numbers that Redis forgot come back, once each (C53).
func TestFreeNumbersThatThePoolLostComeBack(t *testing.T) {
	s := newStack(t)
	var seqNos []string
	for range 3 {
		ticket, seqNo := s.next(t, "DEMO")
		require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
		seqNos = append(seqNos, seqNo)
	}
	for _, seqNo := range seqNos {
		s.awaitState(t, "DEMO", seqNo, sequence.Replayable)
	}
	testkit.Eventually(t, func() bool { n, err := s.pool.Size(t.Context(), "DEMO", ""); return err == nil && n == 3 }, "they are not in the pool")
	_, err := s.pool.Pop(t.Context(), "DEMO", "", 10) // as if Redis had been flushed
	require.NoError(t, err)
	_, err = s.ledger.DB().Exec("UPDATE t_seq_issue_log SET deadline = UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE WHERE status = 4") // ten minutes later
	require.NoError(t, err)
	testkit.Eventually(t, func() bool { n, err := s.pool.Size(t.Context(), "DEMO", ""); return err == nil && n == 3 }, "they did not come back")
}

func TestThePatrolIsScheduledOnce(t *testing.T) {
	s := newStack(t)
	s.worker.Kill()
	s.restart(t, s.worker) // it finds the schedule there
	list, err := s.client.ScheduleClient().List(t.Context(), client.ScheduleListOptions{})
	require.NoError(t, err)
	var ids []string
	testkit.Eventually(t, func() bool {
		for list.HasNext() {
			entry, err := list.Next()
			require.NoError(t, err)
			ids = append(ids, entry.ID)
		}
		if len(ids) == 0 {
			list, err = s.client.ScheduleClient().List(t.Context(), client.ScheduleListOptions{})
			require.NoError(t, err)
		}
		return len(ids) > 0
	}, "there is no schedule")
	require.Equal(t, []string{workflows.PatrolScheduleID}, ids)

	patrol := s.client.ScheduleClient().GetHandle(t.Context(), workflows.PatrolScheduleID)
	require.NoError(t, patrol.Pause(t.Context(), client.SchedulePauseOptions{Note: "the operator's"}))
	s.worker.Kill()
	s.worker.spec.Env = append(s.worker.spec.Env, "LACUNA_PATROL_EVERY=7s")
	s.restart(t, s.worker)
	testkit.Eventually(t, func() bool {
		d, err := patrol.Describe(t.Context())
		require.NoError(t, err)
		require.True(t, d.Schedule.State.Paused, "an operator's pause stays")
		return d.Schedule.Spec.Intervals[0].Every == 7*time.Second
	}, "the rhythm is not the one that was set")
}
