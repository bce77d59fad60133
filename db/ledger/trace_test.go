package ledger_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestTheTraceOfALifeStaysWithItsRow(t *testing.T) {
	b := setup(t)
	records := commands(sequence.Record, b.allocate(t, "batch-1", 3), 1)
	records[0].Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	records[2].Trace = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
	issued := b.apply(t, sequence.OutcomeRecorded, records...)
	require.Equal(t, 1, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE trace IS NULL AND seq_no = 'A-000002'"))
	for i, n := range b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, issued, 0)...) {
		require.Equal(t, records[i].Trace, n.Trace)
		read, _, err := b.Get(t.Context(), "ORDER", n.SeqNo)
		require.NoError(t, err)
		require.Equal(t, records[i].Trace, read.Trace)
	}
}

func TestWhoObservesIsToldOfWhatWasCommitted(t *testing.T) {
	b := setup(t)
	var mu sync.Mutex
	var told []sequence.Outcome
	l, err := ledger.Open(b.dsn, ledger.WithObserver(func(_ context.Context, decisions []sequence.Decision) {
		mu.Lock()
		defer mu.Unlock()
		for _, d := range decisions {
			told = append(told, d.Outcome)
		}
	}))
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // the database goes with the test
	n := b.issue(t, "batch-1", 1)
	_, err = l.Apply(t.Context(), commands(sequence.Abandon, n, 0))
	require.NoError(t, err)
	_, err = l.Apply(t.Context(), commands(sequence.Confirm, n, 0))
	require.NoError(t, err)
	require.Equal(t, []sequence.Outcome{sequence.OutcomeAbandoned, sequence.OutcomeRescued}, told)
}
