package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// The numbers of a day that is long over are sealed and archived by the patrol. They are read, audited and
// confirmed as before, and a change by hand shows.
func TestADayIsSealedAndArchived(t *testing.T) {
	s := newStack(t)
	s.put(t, `{"name":"DAY","format":"D{yyyy}{MM}{dd}-{seq:4}","archiveAfter":"1s","track":"TRACK_NONE","directSignals":false}`)
	exec := func(statement string) {
		_, err := s.ledger.DB().ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	count := func(what string) (n int) {
		require.NoError(t, s.ledger.DB().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+what).Scan(&n))
		return n
	}
	exec(`INSERT INTO t_seq_issue_log (biz_type, period, seq_no, value, life, batch_id, status, biz_key, issued_time, confirmed_time, abandoned_time, reason) VALUES
		('DAY', '20260102', 'D20260102-0001', 1, 1, 'batch-1', 2, 'o-1', '2026-01-02', '2026-01-02', NULL, ''),
		('DAY', '20260102', 'D20260102-0002', 2, 3, 'batch-1', 7, 'o-2', '2026-01-02', NULL, '2026-01-02', 'replayed as often as its biz type allows'),
		('DAY', '20260102', 'D20260102-0003', 3, 1, 'batch-1', 2, 'o-3', '2026-01-02', '2026-01-02', NULL, '')`)
	exec(`INSERT INTO t_seq_cursor (biz_type, period, value) VALUES ('DAY', '20260102', 3)`)
	testkit.Eventually(t, func() bool { return count(`t_seq_archive WHERE biz_type = 'DAY'`) == 3 }, "the day was not sealed and archived")
	require.Equal(t, 1, count(`t_seq_seal WHERE biz_type = 'DAY'`))

	require.Equal(t, "OUTCOME_ALREADY_CONFIRMED", s.settle(t, "Confirm", "DAY~D20260102-0001~1"))
	require.Equal(t, "OUTCOME_ALREADY_ABANDONED", s.settle(t, "Abandon", "DAY~D20260102-0002~3"))
	require.Equal(t, "already_exists", s.settle(t, "Confirm", "DAY~D20260102-0002~2"))
	require.Equal(t, "OUTCOME_RESCUED", s.settle(t, "Confirm", "DAY~D20260102-0002~3"))
	status, answer := s.call(t, "Get", `{"bizType":"DAY","seqNo":"D20260102-0002"}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	require.Equal(t, "STATE_CONFIRMED", answer["number"].(map[string]any)["state"])
	var what []any
	for _, e := range s.timeline(t, "DAY~D20260102-0002~3") {
		what = append(what, e["what"])
	}
	require.Subset(t, what, []any{"ISSUED", "CONFLICT", "RESCUED", "CONFIRMED"})
	out, code := s.lacuna(t, "audit")
	require.Zero(t, code, "%s", out)

	verified := s.operate(t, "VerifySeals", `{}`)
	require.Equal(t, true, verified["clean"])
	chain := verified["chains"].([]any)[0].(map[string]any)
	require.Equal(t, "1", chain["amendments"])
	anchor := chain["number"].(string) + ":" + chain["hash"].(string)
	out, code = s.lacuna(t, "verify", "DAY", "--anchor", anchor)
	require.Zero(t, code, "%s", out)
	require.Contains(t, out, anchor)

	exec(`UPDATE t_seq_archive SET life = 2 WHERE seq_no = 'D20260102-0003'`)
	out, code = s.lacuna(t, "verify")
	require.Equal(t, 2, code, "%s", out)
	require.Contains(t, out, "DAY 20260102: entry 1, values 1 to 3: NUMBERS: ")
	out, code = s.lacuna(t, "verify", "--output", "json")
	require.Equal(t, 2, code, "%s", out)
	require.Contains(t, out, `"clean":false`)
	_, code = s.lacuna(t, "verify", "NONE")
	require.Equal(t, 1, code)
	for _, body := range []string{`{"bizType":"day"}`, `{"anchorNumber":"1","anchorHash":"a"}`, `{"bizType":"DAY","anchorNumber":"1"}`} {
		status, answer = s.post(t, "OperatorService/VerifySeals", body)
		require.Equal(t, http.StatusBadRequest, status, "%s: %v", body, answer)
	}
	status, _ = s.post(t, "OperatorService/PutBizType", `{"bizType":{"name":"DAY","archiveAfter":"0.5s","revision":"1"}}`)
	require.Equal(t, http.StatusBadRequest, status)
}
