package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConflictsAreReadSinceATime(t *testing.T) {
	b := setup(t)
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for i, bizType := range []string{"ORDER", "OTHER", "ORDER"} {
		b.exec(t, `INSERT INTO t_seq_conflict (biz_type, seq_no, asked_life, asked_biz_key, current_life, current_biz_key, current_status, detected_time)
			VALUES (?, 'A-1', ?, '', 2, '', 1, ?)`, bizType, i, at.Add(time.Duration(i)*time.Hour))
	}
	for _, c := range []struct {
		bizType string
		since   time.Time
		want    int
	}{{"", time.Time{}, 3}, {"ORDER", time.Time{}, 2}, {"", at.Add(time.Hour), 2}, {"ORDER", at.Add(time.Minute), 1}, {"", at.Add(3 * time.Hour), 0}} {
		found, err := b.Conflicts(t.Context(), c.bizType, c.since, 0, 10)
		require.NoError(t, err)
		require.Len(t, found, c.want, "%v", c)
	}
}

func TestAConflictTellsWhenTheLifeWasThatIsOver(t *testing.T) {
	b := setup(t)
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	b.exec(t, `INSERT INTO t_seq_life (biz_type, seq_no, life, batch_id, biz_key, issued_time, abandoned_time, reason)
		VALUES ('ORDER', 'A-1', 1, 'batch-1', 'cart-1', ?, ?, ''), ('ORDER', 'A-1', 2, 'batch-2', 'cart-2', ?, NULL, '')`, at, at.Add(time.Minute), at.Add(time.Hour))
	b.exec(t, `INSERT INTO t_seq_conflict (biz_type, seq_no, asked_life, asked_biz_key, current_life, current_biz_key, current_status, detected_time)
		VALUES ('ORDER', 'A-1', 1, '', 3, '', 1, ?), ('ORDER', 'A-1', 3, 'x', 3, '', 1, ?)`, at, at)
	found, err := b.Conflicts(t.Context(), "ORDER", time.Time{}, 0, 10)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, at, found[0].AskedIssuedTime)
	require.Equal(t, at.Add(time.Minute), found[0].AskedAbandonedTime)
	require.Zero(t, found[1].AskedIssuedTime, "its life is the present one")
}
