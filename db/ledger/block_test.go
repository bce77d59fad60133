package ledger_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

func TestAllocateReservesBeforeItAnswers(t *testing.T) {
	b := setup(t)
	block := b.allocate(t, "batch-1", 1500)
	require.Len(t, block, 1500)
	require.Equal(t, "A-000001", block[0].SeqNo)
	require.Equal(t, "A-001500", block[1499].SeqNo)
	require.Equal(t, 1500, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 0 AND owner = ? AND batch_id = 'batch-1'", me))
	require.Equal(t, 1500, b.count(t, "SELECT value FROM t_seq_cursor WHERE biz_type = 'ORDER'"))
	require.Equal(t, "A-001501", b.allocate(t, "batch-2", 1)[0].SeqNo)
}

func TestAllocateTogetherGivesEachValueOnce(t *testing.T) {
	b := setup(t)
	var mu sync.Mutex
	seen := map[int64]int{}
	var all sync.WaitGroup
	for caller := range 4 {
		all.Go(func() {
			for i := range 10 {
				block, err := b.Allocate(t.Context(), "ORDER", me, fmt.Sprintf("batch-%d-%d", caller, i), 7)
				require.NoError(t, err)
				mu.Lock()
				for _, n := range block {
					seen[n.Value]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for value := int64(1); value <= 280; value++ {
		require.Equal(t, 1, seen[value], "value %d", value)
	}
	require.Equal(t, 280, b.count(t, "SELECT value FROM t_seq_cursor WHERE biz_type = 'ORDER'"))
}

func TestAFullFormatGivesWhatIsLeftThenErrFull(t *testing.T) {
	b := setup(t)
	small := order(t)
	format, err := sequence.ParseFormat("S{seq:2}")
	require.NoError(t, err)
	small.Name, small.Format = "SMALL", format
	require.NoError(t, b.CreateBizType(t.Context(), small))
	block, err := b.Allocate(t.Context(), "SMALL", me, "batch-1", 95)
	require.NoError(t, err)
	require.Len(t, block, 95)
	block, err = b.Allocate(t.Context(), "SMALL", me, "batch-2", 10)
	require.NoError(t, err)
	require.Len(t, block, 4)
	require.Equal(t, "S99", block[3].SeqNo)
	_, err = b.Allocate(t.Context(), "SMALL", me, "batch-3", 10)
	require.ErrorIs(t, err, sequence.ErrFull)
	require.ErrorContains(t, err, "SMALL")
}

// The cursor lives in its own row: purging numbers cannot lower it (C66).
func TestPurgingNumbersLeavesTheCursor(t *testing.T) {
	b := setup(t)
	b.allocate(t, "batch-1", 10)
	b.exec(t, "DELETE FROM t_seq_issue_log WHERE value >= 8")
	require.Equal(t, "A-000011", b.allocate(t, "batch-2", 1)[0].SeqNo)
}

func TestAnAllocationThatFailsMovesNothing(t *testing.T) {
	b := setup(t)
	b.exec(t, "INSERT INTO t_seq_issue_log (biz_type, seq_no, value, batch_id, status, owner) VALUES ('ORDER', 'A-000005', 5, 'x', 0, 'x')")
	_, err := b.Allocate(t.Context(), "ORDER", me, "batch-1", 10)
	require.Error(t, err)
	require.Zero(t, b.count(t, "SELECT COUNT(*) FROM t_seq_cursor"))
	require.Equal(t, 1, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log"))
}
