package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
)

// BenchmarkActivity asks what the console's overview asks, and counts where numbers stand: while every block is open,
// and when all are sealed. LACUNA_BENCH_ROWS says how many numbers there are; the default is small.
func BenchmarkActivity(b *testing.B) {
	rows := benchRows(b, 200_000)
	l := openLedger(b)
	fill(b, l, rows)
	exec := func(statement string) {
		_, err := l.DB().ExecContext(b.Context(), statement)
		require.NoError(b, err)
	}
	count := func() (milliseconds float64) {
		exec(`UPDATE t_seq_stock_count SET next_time = UTC_TIMESTAMP(6)`)
		begun := time.Now()
		counted, err := l.CountStock(b.Context())
		require.NoError(b, err)
		require.True(b, counted)
		milliseconds = time.Since(begun).Seconds() * 1e3
		a, err := l.Activity(b.Context(), ledger.MaxActivityMinutes)
		require.NoError(b, err)
		sum := int64(0)
		for _, n := range a.Types[0].States {
			sum += n
		}
		require.Equal(b, int64(rows), sum)
		return milliseconds
	}
	_, err := l.OpenBlocks(b.Context(), rows)
	require.NoError(b, err)
	open := count()
	polls, begun := 0, time.Now()
	for b.Loop() {
		_, err := l.Activity(b.Context(), 15)
		require.NoError(b, err)
		polls++
	}
	b.ReportMetric(time.Since(begun).Seconds()*1e3/float64(polls), "poll-ms")
	exec(`UPDATE t_seq_issue_log SET status = 7, deadline = NULL, owner = '' WHERE status NOT IN (2, 7)`)
	due, _, err := l.DueBlocks(b.Context(), rows)
	require.NoError(b, err)
	for _, block := range due {
		_, err := l.SealNow(b.Context(), block)
		require.NoError(b, err)
	}
	b.ReportMetric(open, "count-open-ms")
	b.ReportMetric(count(), "count-sealed-ms")
}
