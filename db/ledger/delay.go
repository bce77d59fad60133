package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// MaxDelayDays is how many days of delays are kept, today among them.
const MaxDelayDays = 35

// Delays are counted in memory and written now and then: a counter that every settlement raised
// would be a row for which all of them wait. A process that dies loses what it counted since.
const (
	delaysEvery   = 10 * time.Second
	delaysTimeout = 5 * time.Second
	// lastDelaysTimeout is of the last write, when the process is to stop.
	lastDelaysTimeout = time.Second
	// delaysAtOnce bounds the rows of one statement.
	delaysAtOnce = 2_000
)

// delayKey is a row of t_seq_delay, whatever its day.
type delayKey struct {
	bizType string
	kind    sequence.DelayKind
	bucket  int
}

func compareDelayKeys(a, b delayKey) int {
	return cmp.Or(strings.Compare(a.bizType, b.bizType), strings.Compare(a.kind.String(), b.kind.String()), cmp.Compare(a.bucket, b.bucket))
}

// delayCounts is what was counted and is not written yet. There are at most a few hundred keys a biz type.
type delayCounts struct {
	mu     sync.Mutex
	counts map[delayKey]int64
}

// observe counts the delays that a committed batch ended.
func (d *delayCounts) observe(ended []delayKey) {
	if len(ended) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.counts == nil {
		d.counts = map[delayKey]int64{}
	}
	for _, k := range ended {
		d.counts[k]++
	}
}

// delayRow is a row and by how much it is raised.
type delayRow struct {
	delayKey
	count int64
}

// take empties the counts, and gives them in the order of the table's key: processes that write at the
// same time lock the rows in one order.
func (d *delayCounts) take() []delayRow {
	d.mu.Lock()
	defer d.mu.Unlock()
	rows := make([]delayRow, 0, len(d.counts))
	for k, n := range d.counts {
		rows = append(rows, delayRow{k, n})
	}
	d.counts = nil
	slices.SortFunc(rows, func(a, b delayRow) int { return compareDelayKeys(a.delayKey, b.delayKey) })
	return rows
}

// putBack adds rows that were not written.
func (d *delayCounts) putBack(rows []delayRow) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.counts == nil {
		d.counts = map[delayKey]int64{}
	}
	for _, r := range rows {
		d.counts[r.delayKey] += r.count
	}
}

const (
	insertDelays = `INSERT INTO t_seq_delay (biz_type, day, kind, bucket, count, first_time) VALUES `
	aDelay       = `(?, UTC_DATE(), ?, ?, ?, UTC_TIMESTAMP(6))`
	addDelays    = ` ON DUPLICATE KEY UPDATE count = count + VALUES(count)`
	purgeDelays  = `DELETE FROM t_seq_delay WHERE day <= UTC_DATE() - INTERVAL ? DAY ORDER BY day LIMIT ?`
	// Since when there are counts, and where the days that are asked for begin.
	queryDelaySpan = `SELECT UTC_TIMESTAMP(6), UTC_DATE() - INTERVAL ? DAY, (SELECT MIN(first_time) FROM t_seq_delay WHERE biz_type = ?)`
	queryDelays    = `SELECT kind, bucket, SUM(count) FROM t_seq_delay WHERE biz_type = ? AND day >= ? GROUP BY kind, bucket`
	// A confirm that is repeated, or met several holders, is one.
	queryConflictDelays = `SELECT TIMESTAMPDIFF(MICROSECOND, MIN(l.abandoned_time), MIN(c.detected_time))
		FROM t_seq_conflict c FORCE INDEX (idx_conflict_time)
		JOIN t_seq_life l ON l.biz_type = c.biz_type AND l.seq_no = c.seq_no AND l.life = c.asked_life
		WHERE c.biz_type = ? AND c.detected_time >= ? AND c.asked_life < c.current_life AND l.abandoned_time IS NOT NULL
		GROUP BY c.seq_no, c.asked_life`
)

// FlushDelays writes what this process counted. What could not be written is kept and written with the
// next call; only what an unknown COMMIT held is dropped, since writing it again might count it twice.
func (l *Ledger) FlushDelays(ctx context.Context) error {
	rows := l.delays.take()
	for done := 0; done < len(rows); done += delaysAtOnce {
		part := rows[done:min(done+delaysAtOnce, len(rows))]
		err := l.addDelays(ctx, part)
		if errors.Is(err, errCommitUnknown) {
			done += len(part)
		}
		if err != nil {
			l.delays.putBack(rows[done:])
			return classify("write the delays that were counted", err)
		}
	}
	return nil
}

func (l *Ledger) addDelays(ctx context.Context, rows []delayRow) error {
	args := make([]any, 0, 4*len(rows))
	for _, r := range rows {
		args = append(args, r.bizType, r.kind.String(), r.bucket, r.count)
	}
	query := insertDelays + strings.TrimSuffix(strings.Repeat(aDelay+",", len(rows)), ",") + addDelays
	_, err := l.exec(ctx, query, args...)
	return err
}

// KeepDelays writes what this process counts every ten seconds, until ctx ends, and once more then.
func (l *Ledger) KeepDelays(ctx context.Context) {
	tick := time.NewTicker(delaysEvery)
	defer tick.Stop()
	flush := func(timeout time.Duration) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		if err := l.FlushDelays(limited); err != nil {
			l.log.WarnContext(ctx, "the counted delays, which window advice goes by, were not written; trying again", "error", err)
		}
	}
	for {
		select {
		case <-tick.C:
			flush(delaysTimeout)
		case <-ctx.Done():
			flush(lastDelaysTimeout)
			return
		}
	}
}

// Delays reads the delays of a biz type over so many days, 1 to MaxDelayDays, today among them. Late confirms
// that met a conflict are read from the conflicts themselves. Processes write what they count with ten
// seconds' delay.
func (l *Ledger) Delays(ctx context.Context, bizType string, days int) (*sequence.Delays, error) {
	d := &sequence.Delays{}
	err := l.readDelays(ctx, d, bizType, days)
	return d, classify(fmt.Sprintf("read the delays of %s", bizType), err)
}

func (l *Ledger) readDelays(ctx context.Context, d *sequence.Delays, bizType string, days int) error {
	var from time.Time
	var first sql.NullTime
	if err := l.db.QueryRowContext(ctx, queryDelaySpan, days-1, bizType).Scan(&d.Until, &from, &first); err != nil {
		return err
	}
	if first.Valid {
		if d.Since = from; first.Time.After(from) {
			d.Since, from = first.Time, first.Time.Truncate(24*time.Hour)
		}
	}
	of := map[string]*sequence.DelayCounts{
		sequence.DelayConfirmed.String(): &d.Confirmed, sequence.DelayLate.String(): &d.Late, sequence.DelayAbandoned.String(): &d.Abandoned,
	}
	rows, err := l.db.QueryContext(ctx, queryDelays, bizType, from)
	_, err = collect(rows, err, func(row row) (_ struct{}, err error) {
		var kind string
		var bucket int
		var count int64
		if err := row.Scan(&kind, &bucket, &count); err != nil {
			return struct{}{}, err
		}
		if counts, known := of[kind]; known && bucket >= 0 && bucket < sequence.DelayBuckets {
			counts[bucket] += count
		}
		return struct{}{}, nil
	})
	if err != nil {
		return err
	}
	rows, err = l.db.QueryContext(ctx, queryConflictDelays, bizType, from)
	conflicts, err := collect(rows, err, func(row row) (microseconds int64, err error) {
		err = row.Scan(&microseconds)
		return microseconds, err
	})
	for _, microseconds := range conflicts {
		d.Late.Add(time.Duration(microseconds) * time.Microsecond)
	}
	return err
}

// PurgeDelays deletes at most limit rows of days that are not kept any more, and counts them.
func (l *Ledger) PurgeDelays(ctx context.Context, limit int) (int, error) {
	n, err := l.exec(ctx, purgeDelays, MaxDelayDays, limit)
	return int(n), classify("delete old delays", err)
}
