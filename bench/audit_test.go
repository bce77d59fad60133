package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// BenchmarkAudit audits numbers of which a few in a hundred are gaps, and then lists all of those by
// pages. LACUNA_BENCH_ROWS says how many numbers there are; the default is small.
func BenchmarkAudit(b *testing.B) {
	rows := benchRows(b, 200_000)
	l := openLedger(b)
	fill(b, l, rows)
	var audited, listed time.Duration
	rounds := 0
	for b.Loop() {
		rounds++
		begun := time.Now()
		a, err := l.Audit(b.Context(), ledger.AuditFilter{}, 10_000)
		require.NoError(b, err)
		require.Empty(b, a.Findings)
		require.Equal(b, int64(rows), a.Reports[0].Sum())
		audited += time.Since(begun)

		begun = time.Now()
		gaps, count := a.Gaps, len(a.Gaps)
		for more := a.MoreGaps; more; count += len(gaps) {
			gaps, more, _, err = l.Gaps(b.Context(), ledger.AuditFilter{}, gaps[len(gaps)-1].Position(), 10_000)
			require.NoError(b, err)
		}
		require.Equal(b, a.Reports[0].Gaps, int64(count))
		listed += time.Since(begun)
	}
	b.ReportMetric(float64(rows), "rows")
	b.ReportMetric(audited.Seconds()/float64(rounds), "audit-s")
	b.ReportMetric(float64(rows*rounds)/audited.Seconds(), "rows/s")
	b.ReportMetric(listed.Seconds()/float64(rounds), "listing-s")
}

// benchRows is what LACUNA_BENCH_ROWS says, or that many.
func benchRows(b *testing.B, rows int) int {
	b.Helper()
	if text := os.Getenv("LACUNA_BENCH_ROWS"); text != "" {
		var err error
		rows, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	return rows
}

// fill writes so many numbers of ORDER: of every 100, 94 are confirmed, 2 are with a caller, and one
// each is abandoned, in the pool, held and retired.
func fill(b *testing.B, l *ledger.Ledger, rows int) {
	b.Helper()
	const now = "UTC_TIMESTAMP(6)"
	shape := func(value int) (life int, state sequence.State, confirmed, abandoned, deadline, holder, reason string) {
		switch value % 100 {
		case 1, 2:
			return 1, sequence.Allocated, "NULL", "NULL", now, "", ""
		case 3:
			return 1, sequence.Abandoned, "NULL", now, now, "", sequence.ReasonAbandoned
		case 4:
			return 1, sequence.Replayable, "NULL", now, now, "", sequence.ReasonNotConfirmed
		case 5:
			return 0, sequence.Reserved, "NULL", "NULL", "NULL", owner, ""
		case 6:
			return 3, sequence.Retired, "NULL", now, "NULL", "", sequence.ReasonReplayCap
		}
		return 1, sequence.Confirmed, now, "NULL", "NULL", "", ""
	}
	const batch = 5_000
	for first := 1; first <= rows; first += batch {
		var values []string
		for value := first; value <= min(rows, first+batch-1); value++ {
			life, state, confirmed, abandoned, deadline, holder, reason := shape(value)
			values = append(values, fmt.Sprintf("('ORDER', 'A-%012d', %d, %d, 'batch-%d', %d, 'order-%d', %s, %s, %s, %s, '%s', '%s')",
				value, value, life, first, state, value, now, confirmed, abandoned, deadline, holder, reason))
		}
		_, err := l.DB().ExecContext(b.Context(), `INSERT INTO t_seq_issue_log (biz_type, seq_no, value, life, batch_id, status, biz_key,
			issued_time, confirmed_time, abandoned_time, deadline, owner, reason) VALUES `+strings.Join(values, ","))
		require.NoError(b, err)
	}
	_, err := l.DB().ExecContext(b.Context(), "INSERT INTO t_seq_cursor (biz_type, period, value) VALUES ('ORDER', '', ?)", rows)
	require.NoError(b, err)
}
