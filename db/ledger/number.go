package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

const numberColumns = `id, biz_type, period, seq_no, value, life, replays, batch_id, status, tracked, biz_key,
	issued_time, confirmed_time, abandoned_time, deadline, retry_times, version, owner, reason`

func scanNumber(rows interface{ Scan(...any) error }) (sequence.Number, error) {
	var n sequence.Number
	var issued, confirmed, abandoned, deadline sql.NullTime
	err := rows.Scan(&n.ID, &n.BizType, &n.Period, &n.SeqNo, &n.Value, &n.Life, &n.Replays, &n.BatchID, &n.State, &n.Tracked, &n.BizKey,
		&issued, &confirmed, &abandoned, &deadline, &n.RetryTimes, &n.Version, &n.Owner, &n.Reason)
	n.IssuedTime, n.ConfirmedTime, n.AbandonedTime, n.Deadline = issued.Time, confirmed.Time, abandoned.Time, deadline.Time
	return n, err
}

func scanNumbers(rows *sql.Rows, err error) ([]sequence.Number, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	var numbers []sequence.Number
	for rows.Next() {
		n, err := scanNumber(rows)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, rows.Err()
}

// updateNumbers writes many rows that differ in every column by one statement. The rows come as
// one JSON argument: JSON_TABLE is the one way to do that on MySQL 8 and MariaDB alike. The named
// index makes it find and lock no row but those, and the guard misses a row that is not exactly
// as it was read.
const updateNumbers = `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
		id BIGINT PATH '$.id', was_version BIGINT PATH '$.wasVersion', was_status INT PATH '$.wasStatus',
		life INT PATH '$.life', replays INT PATH '$.replays', batch_id VARCHAR(64) PATH '$.batch',
		status INT PATH '$.status', tracked INT PATH '$.tracked', biz_key VARCHAR(128) PATH '$.key',
		issued_time DATETIME(6) PATH '$.issued', confirmed_time DATETIME(6) PATH '$.confirmed',
		abandoned_time DATETIME(6) PATH '$.abandoned', deadline DATETIME(6) PATH '$.deadline',
		retry_times INT PATH '$.retries', version BIGINT PATH '$.version',
		owner VARCHAR(64) PATH '$.owner', reason VARCHAR(255) PATH '$.reason'
	)) c STRAIGHT_JOIN t_seq_issue_log n FORCE INDEX (PRIMARY)
		ON n.id = c.id AND n.version = c.was_version AND n.status = c.was_status
	SET n.life = c.life, n.replays = c.replays, n.batch_id = c.batch_id, n.status = c.status, n.tracked = c.tracked,
		n.biz_key = c.biz_key, n.issued_time = c.issued_time, n.confirmed_time = c.confirmed_time,
		n.abandoned_time = c.abandoned_time, n.deadline = c.deadline, n.retry_times = c.retry_times,
		n.version = c.version, n.owner = c.owner, n.reason = c.reason`

// numberChange is one row of updateNumbers' argument. Absent times become NULL.
type numberChange struct {
	ID         int64  `json:"id"`
	WasVersion int64  `json:"wasVersion"`
	WasStatus  int8   `json:"wasStatus"`
	Life       int32  `json:"life"`
	Replays    int32  `json:"replays"`
	BatchID    string `json:"batch"`
	Status     int8   `json:"status"`
	Tracked    int    `json:"tracked"`
	BizKey     string `json:"key"`
	Issued     string `json:"issued,omitempty"`
	Confirmed  string `json:"confirmed,omitempty"`
	Abandoned  string `json:"abandoned,omitempty"`
	Deadline   string `json:"deadline,omitempty"`
	Retries    int32  `json:"retries"`
	Version    int64  `json:"version"`
	Owner      string `json:"owner"`
	Reason     string `json:"reason"`
}

// changed pairs a row as it was read with what it becomes.
type changed struct{ was, is sequence.Number }

func writeNumbers(ctx context.Context, tx *sql.Tx, rows []changed) error {
	if len(rows) == 0 {
		return nil
	}
	changes := make([]numberChange, len(rows))
	for i, r := range rows {
		changes[i] = numberChange{
			ID: r.was.ID, WasVersion: r.was.Version, WasStatus: int8(r.was.State),
			Life: r.is.Life, Replays: r.is.Replays, BatchID: r.is.BatchID, Status: int8(r.is.State), BizKey: r.is.BizKey,
			Issued: datetime(r.is.IssuedTime), Confirmed: datetime(r.is.ConfirmedTime),
			Abandoned: datetime(r.is.AbandonedTime), Deadline: datetime(r.is.Deadline),
			Retries: r.is.RetryTimes, Version: r.is.Version, Owner: r.is.Owner, Reason: r.is.Reason,
		}
		if r.is.Tracked {
			changes[i].Tracked = 1
		}
	}
	arg, err := json.Marshal(changes)
	if err != nil {
		return err
	}
	result, err := tx.ExecContext(ctx, updateNumbers, string(arg))
	if err != nil {
		return fmt.Errorf("write %d numbers: %w", len(rows), err)
	}
	if n, err := result.RowsAffected(); err != nil || n != int64(len(rows)) {
		return fmt.Errorf("write %d numbers: the guard let %d through: %w", len(rows), n, errGuardMissed)
	}
	return nil
}

// datetime spells a time as a DATETIME(6) in UTC, the zero time as nothing.
func datetime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000000")
}
