package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
)

// BenchmarkSeal seals numbers that are all final, verifies them, archives them, and verifies them again.
// LACUNA_BENCH_ROWS says how many there are; the default is small.
func BenchmarkSeal(b *testing.B) {
	rows := benchRows(b, 100_000)
	l := openLedger(b)
	fill(b, l, rows)
	exec := func(statement string) {
		_, err := l.DB().ExecContext(b.Context(), statement)
		require.NoError(b, err)
	}
	exec(`UPDATE t_seq_issue_log SET status = 7, deadline = NULL, owner = '' WHERE status NOT IN (2, 7)`)
	for b.Loop() {
		_, err := l.OpenBlocks(b.Context(), rows)
		require.NoError(b, err)
		due, _, err := l.DueBlocks(b.Context(), rows)
		require.NoError(b, err)
		took := make([]time.Duration, len(due))
		for i, block := range due {
			begun := time.Now()
			sealed, err := l.SealNow(b.Context(), block)
			require.NoError(b, err)
			require.True(b, sealed)
			took[i] = time.Since(begun)
		}
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2].Seconds()*1e3, "seal-ms/block")
		b.ReportMetric(took[len(took)-1].Seconds()*1e3, "seal-max-ms")

		verify := func(metric string) {
			begun := time.Now()
			v, err := l.VerifySeals(b.Context(), "ORDER", ledger.Anchor{})
			require.NoError(b, err)
			require.Empty(b, v.Faults)
			b.ReportMetric(float64(v.Chains[0].Values)/time.Since(begun).Seconds(), metric)
		}
		verify("verify-rows/s")
		exec(`UPDATE t_seq_biz_type SET archive_after_ms = 1`)
		begun, archived := time.Now(), 0
		for more := true; more; {
			var moved int
			moved, more, err = l.ArchiveNext(b.Context())
			require.NoError(b, err)
			archived += moved
		}
		b.ReportMetric(float64(archived)/time.Since(begun).Seconds(), "archive-rows/s")
		verify("verify-archived-rows/s")
	}
}
