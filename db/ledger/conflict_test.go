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
