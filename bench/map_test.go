package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
)

// BenchmarkMap maps numbers of which none is sealed, part by part, and then those of which all are. LACUNA_BENCH_ROWS
// says how many numbers there are; the default is small.
func BenchmarkMap(b *testing.B) {
	rows := benchRows(b, 200_000)
	l := openLedger(b)
	fill(b, l, rows)
	for b.Loop() {
		parts, took, longest := mapAll(b, l)
		b.ReportMetric(took.Seconds(), "map-s")
		b.ReportMetric(float64(rows)/took.Seconds(), "rows/s")
		b.ReportMetric(float64(parts), "parts")
		b.ReportMetric(longest.Seconds(), "longest-part-s")
		b.ReportMetric(mapOnce(b, l, 1_000).Seconds()*1e3, "1000-single-ms")

		for lo := 1; lo <= rows; lo += 100_000 {
			_, err := l.DB().ExecContext(b.Context(), `UPDATE t_seq_issue_log SET status = 7, deadline = NULL, owner = ''
				WHERE biz_type = 'ORDER' AND period = '' AND value BETWEEN ? AND ? AND status NOT IN (2, 7)`, lo, lo+99_999)
			require.NoError(b, err)
		}
		_, err := l.OpenBlocks(b.Context(), rows)
		require.NoError(b, err)
		due, _, err := l.DueBlocks(b.Context(), rows)
		require.NoError(b, err)
		for _, block := range due {
			_, err := l.SealNow(b.Context(), block)
			require.NoError(b, err)
		}
		parts, took, _ = mapAll(b, l)
		require.Equal(b, 1, parts)
		b.ReportMetric(took.Seconds()*1e3, "sealed-map-ms")
	}
}

// mapAll maps everything in at most 1,000 cells.
func mapAll(b *testing.B, l *ledger.Ledger) (parts int, took, longest time.Duration) {
	b.Helper()
	f := ledger.MapFilter{BizType: "ORDER", Cells: ledger.MaxMapCells}
	for {
		begun := time.Now()
		m, err := l.Map(b.Context(), f)
		require.NoError(b, err)
		part := time.Since(begun)
		parts, took, longest = parts+1, took+part, max(longest, part)
		if m.Next == 0 {
			return parts, took, longest
		}
		f.From, f.To, f.Width, f.Begin = &m.From, &m.To, m.Width, m.Next
	}
}

// mapOnce maps so many single numbers.
func mapOnce(b *testing.B, l *ledger.Ledger, count int64) time.Duration {
	b.Helper()
	from, to := int64(1), count
	begun := time.Now()
	m, err := l.Map(b.Context(), ledger.MapFilter{BizType: "ORDER", From: &from, To: &to, Cells: ledger.MaxMapCells})
	require.NoError(b, err)
	require.Equal(b, int64(1), m.Width)
	return time.Since(begun)
}
