package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

const bizTypeColumns = `name, format, time_zone, source, start, step_min, step_max, confirm_timeout_ms, extend_limit_ms,
	on_timeout, safety_window_ms, max_replays, reuse, pool_order, durable_issue, probe, retry_delays_ms, direct_signals, track, track_after_ms,
	archive_after_ms, revision`

// bizTypeState is read with the rules and is none: only finding a step back and raising it write it.
const bizTypeState = `, stepped_back`

const (
	insertBizType = `INSERT INTO t_seq_biz_type (` + bizTypeColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`
	queryBizTypes = `SELECT UTC_TIMESTAMP(6), ` + bizTypeColumns + bizTypeState + ` FROM t_seq_biz_type ORDER BY name`
	queryBizType  = `SELECT UTC_TIMESTAMP(6), ` + bizTypeColumns + bizTypeState + ` FROM t_seq_biz_type WHERE name = ?`
)

// ErrExists is a biz type or a token whose name is taken.
var ErrExists = errors.New("the name is taken")

// CreateBizType adds a biz type at revision 1. Its cursor is made with its first allocation. It returns ErrExists where
// the name is taken, and the faults of the settings as sequence.InvalidError.
func (l *Ledger) CreateBizType(ctx context.Context, b sequence.BizType) error {
	if err := b.Validate(); err != nil {
		return err
	}
	_, err := l.exec(ctx, insertBizType, append([]any{b.Name}, settings(b)...)...)
	if number(err) == errDuplicateKey {
		return fmt.Errorf("create biz type %s: %w", b.Name, ErrExists)
	}
	return classify("create biz type "+b.Name, err)
}

const (
	lockBizType   = queryBizType + ` FOR UPDATE`
	updateBizType = `UPDATE t_seq_biz_type SET format = ?, time_zone = ?, source = ?, start = ?, step_min = ?, step_max = ?,
		confirm_timeout_ms = ?, extend_limit_ms = ?, on_timeout = ?, safety_window_ms = ?, max_replays = ?, reuse = ?,
		pool_order = ?, durable_issue = ?, probe = ?, retry_delays_ms = ?, direct_signals = ?, track = ?, track_after_ms = ?,
		archive_after_ms = ?, retime_due = retime_due OR ?, revision = revision + 1 WHERE name = ? AND revision = ?`
)

// settings are the columns that a biz type's rules stand in, in the order of bizTypeColumns.
func settings(b sequence.BizType) []any {
	return []any{
		b.Format.String(), b.TimeZone.String(), b.Source.String(), b.Start, b.StepMin, b.StepMax,
		b.ConfirmTimeout.Milliseconds(), b.ExtendLimit.Milliseconds(), b.OnTimeout.String(), b.SafetyWindow.Milliseconds(),
		b.MaxReplays, b.Reuse.String(), b.PoolOrder.String(), b.DurableIssue, probeText(b.Probe), delaysText(b.RetryDelays), b.DirectSignals,
		b.Track.String(), b.TrackAfter.Milliseconds(), b.ArchiveAfter.Milliseconds(),
	}
}

// ChangeBizType lets change work on the biz type as it stands and stores what it gives, as the next
// revision. It returns sequence.ErrNotFound, a sequence.RevisionError where revision is not the
// current one, the faults of the settings as sequence.InvalidError, or change's error. The format,
// the time zone and the source are fixed once a number was allocated, and the start too but for
// periods that begin later. Transactions that begin after it see the new rules.
func (l *Ledger) ChangeBizType(ctx context.Context, name string, revision int64, change func(*sequence.BizType) error) (sequence.BizType, error) {
	var b sequence.BizType
	err := l.inTx(ctx, func(tx *sql.Tx) (err error) {
		b, err = changeBizType(ctx, tx, name, revision, change)
		return err
	})
	return b, classify("change biz type "+name, err)
}

func changeBizType(ctx context.Context, tx *sql.Tx, name string, revision int64, change func(*sequence.BizType) error) (sequence.BizType, error) {
	var now time.Time
	was, err := scanBizType(tx.QueryRowContext(ctx, lockBizType, name), &now)
	if errors.Is(err, sql.ErrNoRows) {
		return was, fmt.Errorf("biz type %s: %w", name, sequence.ErrNotFound)
	}
	if err != nil {
		return was, err
	}
	if revision != was.Revision {
		return was, &sequence.RevisionError{BizType: name, Given: revision, Current: was.Revision}
	}
	b := was
	if err := errors.Join(change(&b), b.Validate()); err != nil {
		return was, err
	}
	if fixed := changeOfFixed(was, b); fixed != nil {
		var hasNumbers bool
		if err := tx.QueryRowContext(ctx, queryHasCursor, name).Scan(&hasNumbers); err != nil {
			return was, err
		}
		if hasNumbers {
			return was, fixed
		}
	}
	retime := b.ConfirmTimeout != was.ConfirmTimeout || b.SafetyWindow != was.SafetyWindow
	_, err = tx.ExecContext(ctx, updateBizType, append(settings(b), retime, name, was.Revision)...)
	b.Revision++
	return b, err
}

// changeOfFixed reports what a change touches that is fixed once a number was allocated.
func changeOfFixed(was, is sequence.BizType) error {
	var faults []error
	for _, f := range []struct {
		field   string
		changed bool
		was     any
	}{
		{"format", is.Format.String() != was.Format.String(), was.Format},
		{"timeZone", is.TimeZone.String() != was.TimeZone.String(), was.TimeZone},
		{"source", is.Source != was.Source, was.Source},
		{"start", is.Start != was.Start && !was.Format.HasPeriod(), was.Start},
	} {
		if f.changed {
			faults = append(faults, sequence.Invalidf(f.field, "numbers were allocated with %v: it is fixed", f.was))
		}
	}
	return errors.Join(faults...)
}

// BizTypes reads all biz types in the order of their names.
func (l *Ledger) BizTypes(ctx context.Context) ([]sequence.BizType, error) {
	types, err := scanBizTypes(l.db.QueryContext(ctx, queryBizTypes))
	return types, classify("read the biz types", err)
}

// Now is the database's time, which decides which period runs and which deadlines have passed.
func (l *Ledger) Now(ctx context.Context) (now time.Time, err error) {
	err = l.db.QueryRowContext(ctx, "SELECT UTC_TIMESTAMP(6)").Scan(&now)
	return now, classify("read the time", err)
}

// BizType reads one biz type; sequence.ErrNotFound where there is none of that name.
func (l *Ledger) BizType(ctx context.Context, name string) (sequence.BizType, error) {
	var now time.Time
	b, err := scanBizType(l.db.QueryRowContext(ctx, queryBizType, name), &now)
	if errors.Is(err, sql.ErrNoRows) {
		return b, fmt.Errorf("biz type %s: %w", name, sequence.ErrNotFound)
	}
	return b, classify("read biz type "+name, err)
}

func scanBizTypes(rows *sql.Rows, err error) ([]sequence.BizType, error) {
	var now time.Time
	return collect(rows, err, func(row row) (sequence.BizType, error) { return scanBizType(row, &now) })
}

// scanBizType reads a row of UTC_TIMESTAMP(6), bizTypeColumns and bizTypeState.
func scanBizType(row row, now *time.Time) (sequence.BizType, error) {
	var b sequence.BizType
	var format, zone, source, onTimeout, reuse, order, probe, delays, track string
	var confirmTimeout, extendLimit, safetyWindow, trackAfter, archiveAfter int64
	err := row.Scan(now, &b.Name, &format, &zone, &source, &b.Start, &b.StepMin, &b.StepMax, &confirmTimeout, &extendLimit,
		&onTimeout, &safetyWindow, &b.MaxReplays, &reuse, &order, &b.DurableIssue, &probe, &delays, &b.DirectSignals, &track, &trackAfter, &archiveAfter, &b.Revision, &b.SteppedBack)
	if err != nil {
		return b, err
	}
	b.ConfirmTimeout = time.Duration(confirmTimeout) * time.Millisecond
	b.ExtendLimit = time.Duration(extendLimit) * time.Millisecond
	b.SafetyWindow = time.Duration(safetyWindow) * time.Millisecond
	b.TrackAfter = time.Duration(trackAfter) * time.Millisecond
	b.ArchiveAfter = time.Duration(archiveAfter) * time.Millisecond
	var errs [9]error
	b.Format, errs[0] = sequence.ParseFormat(format)
	b.TimeZone, errs[1] = sequence.ParseZone(zone)
	b.Source, errs[2] = sequence.ParseSource(source)
	b.Reuse, errs[3] = sequence.ParseReuse(reuse)
	b.PoolOrder, errs[4] = sequence.ParsePoolOrder(order)
	b.OnTimeout, errs[5] = sequence.ParseOnTimeout(onTimeout)
	b.Probe, errs[6] = parseProbe(probe)
	b.RetryDelays, errs[7] = parseDelays(delays)
	b.Track, errs[8] = sequence.ParseTrack(track)
	if err := errors.Join(errs[:]...); err != nil {
		return b, fmt.Errorf("biz type %s: %w", b.Name, err)
	}
	return b, nil
}

// probeJSON is how the column holds a probe.
type probeJSON struct {
	DSN       string `json:"dsn,omitempty"`
	Query     string `json:"query,omitempty"`
	URL       string `json:"url,omitempty"`
	TimeoutMS int64  `json:"timeoutMs"`
}

func probeText(p sequence.Probe) string {
	if !p.Asks() {
		return ""
	}
	text, _ := json.Marshal(probeJSON{DSN: p.DSN, Query: p.Query, URL: p.URL, TimeoutMS: p.Timeout.Milliseconds()}) //nolint:errchkjson // strings and a number
	return string(text)
}

func parseProbe(text string) (sequence.Probe, error) {
	if text == "" {
		return sequence.Probe{}, nil
	}
	var p probeJSON
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return sequence.Probe{}, fmt.Errorf("probe: %w", err)
	}
	return sequence.Probe{DSN: p.DSN, Query: p.Query, URL: p.URL, Timeout: time.Duration(p.TimeoutMS) * time.Millisecond}, nil
}

func delaysText(delays []time.Duration) string {
	texts := make([]string, len(delays))
	for i, d := range delays {
		texts[i] = strconv.FormatInt(d.Milliseconds(), 10)
	}
	return strings.Join(texts, ",")
}

func parseDelays(text string) ([]time.Duration, error) {
	var delays []time.Duration
	for _, ms := range strings.Split(text, ",") {
		n, err := strconv.ParseInt(ms, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("retry_delays_ms: %w", err)
		}
		delays = append(delays, time.Duration(n)*time.Millisecond)
	}
	return delays, nil
}
