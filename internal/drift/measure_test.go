package drift_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/drift"
)

func TestMeasure(t *testing.T) {
	s := setup(t)
	// 300,000 rows of ORDER, a third free; half of the free ones share one deadline.
	for lo := 0; lo < 300000; lo += 5000 {
		q := "INSERT INTO t_seq_issue_log (biz_type, period, seq_no, value, batch_id, status, deadline, confirmed_time, life, issued_time) VALUES "
		args := []any{}
		for i := lo; i < lo+5000; i++ {
			if i > lo {
				q += ","
			}
			if i%3 == 0 {
				if i%2 == 0 {
					q += "('ORDER','',?,?,'b',4,UTC_TIMESTAMP(6),NULL,0,NULL)"
				} else {
					q += "('ORDER','',?,?,'b',4,'2026-01-01',NULL,0,NULL)"
				}
			} else {
				q += "('ORDER','',?,?,'b',2,NULL,UTC_TIMESTAMP(6),1,UTC_TIMESTAMP(6))"
			}
			args = append(args, fmt.Sprintf("A-%06d", i), i)
		}
		_, err := s.DB().ExecContext(t.Context(), q, args...)
		require.NoError(t, err)
	}
	for _, q := range []string{
		"EXPLAIN SELECT * FROM t_seq_issue_log FORCE INDEX (idx_status_deadline) WHERE status = 4 AND deadline >= '2026-01-01' AND deadline <= '2027-01-01' AND (deadline > '2026-01-01' OR id > 100000) AND biz_type='ORDER' ORDER BY deadline, id LIMIT 500",
		"EXPLAIN SELECT * FROM t_seq_issue_log FORCE INDEX (idx_status_deadline) WHERE status = 4 AND deadline <= '2027-01-01' AND (deadline > '2026-01-01' OR deadline = '2026-01-01' AND id > 100000) ORDER BY deadline, id LIMIT 500",
		"EXPLAIN SELECT * FROM t_seq_issue_log FORCE INDEX (uk_biz_seq) WHERE biz_type='ORDER' AND seq_no IN ('A-000001','A-000007','A-000077')",
		"EXPLAIN SELECT period FROM t_seq_cursor WHERE biz_type='ORDER' ORDER BY period",
	} {
		rows, err := s.DB().QueryContext(t.Context(), q)
		require.NoError(t, err)
		cols, _ := rows.Columns()
		for rows.Next() {
			v := make([]any, len(cols))
			for i := range v {
				v[i] = new(*string)
			}
			require.NoError(t, rows.Scan(v...))
			out := ""
			for _, x := range v {
				p := *(x.(**string))
				if p != nil {
					out += *p + " | "
				} else {
					out += "- | "
				}
			}
			t.Log(out)
		}
		rows.Close()
	}
	at := func(what string, f func() drift.Report) {
		b := time.Now()
		r := f()
		t.Logf("%s: %s total %d left %d", what, time.Since(b).Round(time.Millisecond), r.Total(), r.Left)
	}
	at("check, all missing", func() drift.Report { return s.check(t, "ORDER") })
	at("rebuild 30,000", func() drift.Report { return s.rebuild(t, 30000) })
	at("rebuild rest", func() drift.Report { return s.rebuild(t, 100000) })
	at("check, none differ", func() drift.Report { return s.check(t, "ORDER") })
}
