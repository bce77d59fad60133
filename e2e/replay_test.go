package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// Numbers without a run whose windows are over come back by the patrol and its Compensations, each once. The rate
// is printed beside that of the bare write: a guarded UPDATE of 500 rows.
func TestReplayByThePatrol(t *testing.T) {
	s := newStack(t)
	count := rounds(12_000, 300_000)
	for _, name := range []string{"BACK", "BARE"} {
		s.put(t, `{"name":"`+name+`","format":"`+name+`-{seq:9}","safetyWindow":"60s","track":"TRACK_NONE"}`)
		s.fill(t, name, count)
	}
	bare := s.bareReplay(t, count)

	begun, first := time.Now(), time.Time{}
	_, err := s.ledger.DB().ExecContext(t.Context(), "UPDATE t_seq_issue_log SET deadline = UTC_TIMESTAMP(6), abandoned_time = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR WHERE biz_type = 'BACK'")
	require.NoError(t, err)
	for back := 0; back < count; {
		before := back
		testkit.Within(t, 2*time.Minute, func() bool {
			back = s.count(t, "biz_type = 'BACK' AND status = 4")
			return back > before
		}, "%d of %d came back", before, count)
		if before == 0 {
			first = time.Now()
		}
	}
	took := time.Since(first)
	size := int64(0)
	testkit.Eventually(t, func() bool {
		size, err = s.pool.Size(t.Context(), "BACK", "")
		require.NoError(t, err)
		return size == int64(count)
	}, "not all are in the pool")
	runs := s.compensations(t, "BACK")
	t.Logf("%d numbers back %s after they were due, %s after the first: %.0f/s, %.3f of the bare write's %.0f/s; %d runs, %.1f/s", count,
		time.Since(begun).Round(time.Millisecond), took.Round(time.Millisecond), float64(count)/took.Seconds(), float64(count)/took.Seconds()/bare, bare, runs, float64(runs)/took.Seconds())
	require.LessOrEqual(t, runs, count/2_000*2, "what a run has taken is not taken again")
	s.closure(t)
}

// fill makes numbers that were abandoned and are in their windows.
func (s *stack) fill(t *testing.T, bizType string, count int) {
	t.Helper()
	for _, statement := range []string{
		fmt.Sprintf(`INSERT INTO t_seq_issue_log (biz_type, seq_no, value, life, batch_id, status, tracked, issued_time, abandoned_time, deadline, reason)
			SELECT '%[1]s', CONCAT('%[1]s-', LPAD(seq, 9, '0')), seq, 1, 'seg-1', 3, FALSE, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL 1 DAY, ''
			FROM seq_1_to_%[2]d`, bizType, count), // MariaDB's own, for tests
		fmt.Sprintf("INSERT INTO t_seq_cursor (biz_type, period, value) VALUES ('%s', '', %d)", bizType, count),
	} {
		_, err := s.ledger.DB().ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
}

// bareReplay moves the rows of BARE by nothing but the write, and gives the rows a second.
func (s *stack) bareReplay(t *testing.T, count int) float64 {
	t.Helper()
	var first int64
	require.NoError(t, s.ledger.DB().QueryRowContext(t.Context(), "SELECT MIN(id) FROM t_seq_issue_log WHERE biz_type = 'BARE'").Scan(&first))
	begun := time.Now()
	for from := first; from < first+int64(count); from += 500 {
		_, err := s.ledger.DB().ExecContext(t.Context(), `UPDATE t_seq_issue_log SET status = 4, version = version + 1, deadline = UTC_TIMESTAMP(6) + INTERVAL 10 MINUTE
			WHERE id BETWEEN ? AND ? AND status = 3 AND version = 0`, from, from+499)
		require.NoError(t, err)
	}
	rate := float64(count) / time.Since(begun).Seconds()
	require.Equal(t, count, s.count(t, "biz_type = 'BARE' AND status = 4"))
	return rate
}

// compensations counts the runs that saw to numbers of the biz type.
func (s *stack) compensations(t *testing.T, bizType string) int {
	t.Helper()
	count, err := s.client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
		Query: "BizType = '" + bizType + "' AND WorkflowType = 'Compensation'",
	})
	require.NoError(t, err)
	return int(count.GetCount())
}
