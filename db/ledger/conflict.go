package ledger

import (
	"context"
	"database/sql"
	"fmt"
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

// Conflict is where two holders of a number met.
type Conflict struct {
	ID            int64 // counts up
	Asked         sequence.Ticket
	AskedBizKey   string
	Current       sequence.Ticket // what stood in the ledger
	CurrentBizKey string
	State         sequence.State
	IssuedTime    time.Time // of Current
	DetectedTime  time.Time
	// When the life that was asked for was handed out and given up; zero where that is the present one.
	AskedIssuedTime, AskedAbandonedTime time.Time
}

const (
	queryConflicts = `SELECT id, biz_type, seq_no, asked_life, asked_biz_key, current_life, current_biz_key, current_status, current_issued, detected_time,
			(SELECT l.issued_time` + fromAskedLife + `), (SELECT l.abandoned_time` + fromAskedLife + `) FROM t_seq_conflict c`
	fromAskedLife = ` FROM t_seq_life l WHERE l.biz_type = c.biz_type AND l.seq_no = c.seq_no AND l.life = c.asked_life`
)

// Conflicts reads at most limit conflicts that were detected since then, oldest first, after the one of the given id;
// of all biz types where none is named. They are few: those of all types and times are gone through.
func (l *Ledger) Conflicts(ctx context.Context, bizType string, since time.Time, after int64, limit int) ([]Conflict, error) {
	rows, err := l.db.QueryContext(ctx, queryConflicts+" WHERE id > ? AND (? = '' OR biz_type = ?) AND detected_time >= ? ORDER BY id LIMIT ?",
		after, bizType, bizType, datetime(orEpoch(since)), limit)
	conflicts, err := collect(rows, err, scanConflict)
	return conflicts, classify("read the conflicts", err)
}

// ConflictsOf reads the conflicts of one number, oldest first, at most the first 1,000.
func (l *Ledger) ConflictsOf(ctx context.Context, bizType, seqNo string) ([]Conflict, error) {
	rows, err := l.db.QueryContext(ctx, queryConflicts+" WHERE biz_type = ? AND seq_no = ? ORDER BY id LIMIT ?", bizType, seqNo, maxEvents)
	conflicts, err := collect(rows, err, scanConflict)
	return conflicts, classify("read the conflicts of "+seqNo+" of "+bizType, err)
}

func scanConflict(row row) (Conflict, error) {
	var c Conflict
	var issued, askedIssued, askedAbandoned sql.NullTime
	err := row.Scan(&c.ID, &c.Asked.BizType, &c.Asked.SeqNo, &c.Asked.Life, &c.AskedBizKey,
		&c.Current.Life, &c.CurrentBizKey, &c.State, &issued, &c.DetectedTime, &askedIssued, &askedAbandoned)
	c.AskedIssuedTime, c.AskedAbandonedTime = askedIssued.Time, askedAbandoned.Time
	c.Current.BizType, c.Current.SeqNo, c.IssuedTime = c.Asked.BizType, c.Asked.SeqNo, issued.Time
	return c, err
}

func insertConflicts(ctx context.Context, tx *sql.Tx, conflicts []conflict, now time.Time) error {
	if len(conflicts) == 0 {
		return nil
	}
	args := make([]any, 0, 9*len(conflicts))
	for _, c := range conflicts {
		args = append(args, c.current.BizType, c.current.SeqNo, c.asked.Ticket.Life, c.asked.BizKey,
			c.current.Life, c.current.BizKey, c.current.State, null(c.current.IssuedTime), now)
	}
	query := insertConflict + tuples(len(conflicts), 9) + keepConflict
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("write %d conflicts: %w", len(conflicts), err)
	}
	return nil
}
