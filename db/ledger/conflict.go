package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// conflict is a command that met another holder of its number.
type conflict struct {
	asked   sequence.Command
	current sequence.Number
}

// A caller that repeats its refused confirm adds no second row.
const (
	insertConflict = `INSERT INTO t_seq_conflict (biz_type, seq_no, asked_life, asked_biz_key,
		current_life, current_biz_key, current_status, current_issued, detected_time) VALUES `
	keepConflict = ` ON DUPLICATE KEY UPDATE id = id`
)

func insertConflicts(ctx context.Context, tx *sql.Tx, conflicts []conflict, now time.Time) error {
	if len(conflicts) == 0 {
		return nil
	}
	args := make([]any, 0, 9*len(conflicts))
	for _, c := range conflicts {
		args = append(args, c.current.BizType, c.current.SeqNo, c.asked.Ticket.Life, c.asked.BizKey,
			c.current.Life, c.current.BizKey, c.current.State, null(c.current.IssuedTime), now)
	}
	query := insertConflict + strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,?,?,?,?),", len(conflicts)), ",") + keepConflict
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("write %d conflicts: %w", len(conflicts), err)
	}
	return nil
}
