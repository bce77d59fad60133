package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// AlertKind is what people are told of.
type AlertKind string

const (
	// AlertDeadLetter tells of numbers that wait for a person.
	AlertDeadLetter AlertKind = "DEAD_LETTER"
	// AlertConflict tells of two holders that met.
	AlertConflict AlertKind = "CONFLICT"
	// AlertAbandonBudget tells of a token whose holder abandons more numbers than it is meant to. Its subject is
	// the token's name.
	AlertAbandonBudget AlertKind = "ABANDON_BUDGET"
	// AlertSteppedBack tells of a biz type of which nothing is issued, since the ledger is behind what was seen of it.
	AlertSteppedBack AlertKind = "STEPPED_BACK"
)

// AlertKinds lists every kind.
var AlertKinds = [...]AlertKind{AlertDeadLetter, AlertConflict, AlertAbandonBudget, AlertSteppedBack}

// Untold is what nobody was told of yet, of one kind and one biz type.
type Untold struct {
	Kind    AlertKind
	BizType string // of AlertAbandonBudget it is the token's name
	Count   int64
	Samples []Sample // the oldest
	upTo    int64    // the id of the newest
}

// settleAfter is how old something is before it is told: transactions that began before it have ended by
// then, so that an id below upTo does not appear later. A transaction of the ledger waits 2 s for a lock.
const settleAfter = 5 * time.Second

// toldBatch is how many rows one statement marks as told: it holds their locks, which a rescue waits for.
const toldBatch = 500

// Sample is one number of an alert.
type Sample struct {
	Ticket  sequence.Ticket
	BatchID string
	BizKey  string
	Cause   string // of a dead letter
	Reason  string
	Time    time.Time
}

// alertTables are where the kinds stand, by what they are told apart, how they are counted and what a sample of
// them is.
var alertTables = map[AlertKind]struct{ table, index, subject, count, time, sample string }{
	AlertDeadLetter: {"t_seq_issue_dead", "idx_dead_alerted", "biz_type", "COUNT(*)", "dead_time", "seq_no, life, batch_id, biz_key, cause, dead_reason, dead_time"},
	AlertConflict: {"t_seq_conflict", "idx_conflict_alerted", "biz_type", "COUNT(*)", "detected_time", `seq_no, asked_life, COALESCE((SELECT batch_id FROM t_seq_issue_log n WHERE n.biz_type = a.biz_type AND n.seq_no = a.seq_no),
		(SELECT batch_id FROM t_seq_archive n WHERE n.biz_type = a.biz_type AND n.seq_no = a.seq_no), ''),
		asked_biz_key, '', CONCAT('held by ', biz_type, '~', seq_no, '~', current_life, IF(current_biz_key = '', '', CONCAT(' for ', current_biz_key))), detected_time`},
	AlertAbandonBudget: {"t_seq_token_excess", "idx_excess_alerted", "token", "CAST(SUM(abandoned) AS SIGNED)", "excess_time",
		`'', 0, '', '', '', CONCAT('its budget is ', budget, ' a minute'), excess_time`},
	AlertSteppedBack: {"t_seq_step_back", "idx_step_back_alerted", "biz_type", "MAX(behind)", "found_time",
		`'', 0, '', '', '', reason, found_time`},
}

// Untold reads what nobody was told of yet, with at most so many samples each, where the last alert of
// the kind and biz type is long enough ago.
func (l *Ledger) Untold(ctx context.Context, samples int) ([]Untold, error) {
	var all []Untold
	for _, kind := range AlertKinds {
		of, err := l.untold(ctx, kind)
		if err != nil {
			return nil, classify("look for what to alert of", err)
		}
		for i := range of {
			if of[i].Samples, err = l.alertSamples(ctx, of[i], samples); err != nil {
				return nil, classify("look for what to alert of", err)
			}
		}
		all = append(all, of...)
	}
	return all, nil
}

func (l *Ledger) untold(ctx context.Context, kind AlertKind) ([]Untold, error) {
	of := alertTables[kind]
	rows, err := l.db.QueryContext(ctx, `SELECT `+of.subject+`, `+of.count+`, MAX(id) FROM `+of.table+` a FORCE INDEX (`+of.index+`)
		WHERE alerted_time IS NULL AND `+of.time+` < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
		AND NOT EXISTS (SELECT 1 FROM t_seq_alert t WHERE t.kind = ? AND t.biz_type = a.`+of.subject+` AND t.next_time > UTC_TIMESTAMP(6))
		GROUP BY `+of.subject, settleAfter.Microseconds(), string(kind))
	return collect(rows, err, func(row row) (Untold, error) {
		u := Untold{Kind: kind}
		err := row.Scan(&u.BizType, &u.Count, &u.upTo)
		return u, err
	})
}

func (l *Ledger) alertSamples(ctx context.Context, u Untold, most int) ([]Sample, error) {
	of := alertTables[u.Kind]
	rows, err := l.db.QueryContext(ctx, "SELECT "+of.sample+" FROM "+of.table+" a FORCE INDEX ("+of.index+") WHERE alerted_time IS NULL AND "+of.subject+" = ? ORDER BY id LIMIT ?", u.BizType, most)
	return collect(rows, err, func(row row) (Sample, error) {
		s := Sample{Ticket: sequence.Ticket{BizType: u.BizType}}
		err := row.Scan(&s.Ticket.SeqNo, &s.Ticket.Life, &s.BatchID, &s.BizKey, &s.Cause, &s.Reason, &s.Time)
		return s, err
	})
}

const (
	makeAlert  = `INSERT IGNORE INTO t_seq_alert (kind, biz_type, next_time) VALUES (?, ?, '2000-01-01')`
	claimAlert = `UPDATE t_seq_alert SET next_time = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND WHERE kind = ? AND biz_type = ? AND next_time <= UTC_TIMESTAMP(6)`
	delayAlert = `UPDATE t_seq_alert SET next_time = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND WHERE kind = ? AND biz_type = ?`
)

// ClaimAlert makes the caller the one who tells of it, for the given time. false where another process is.
func (l *Ledger) ClaimAlert(ctx context.Context, u Untold, lasts time.Duration) (bool, error) {
	if _, err := l.exec(ctx, makeAlert, string(u.Kind), u.BizType); err != nil {
		return false, classify("claim an alert", err)
	}
	n, err := l.exec(ctx, claimAlert, lasts.Microseconds(), string(u.Kind), u.BizType)
	return n == 1, classify("claim an alert", err)
}

// Told says that people were told of it.
func (l *Ledger) Told(ctx context.Context, u Untold) error {
	of := alertTables[u.Kind]
	for {
		n, err := l.exec(ctx, "UPDATE "+of.table+" SET alerted_time = UTC_TIMESTAMP(6) WHERE alerted_time IS NULL AND "+of.subject+" = ? AND id <= ? ORDER BY id LIMIT ?",
			u.BizType, u.upTo, toldBatch)
		if err != nil || n < toldBatch {
			return classify(fmt.Sprintf("mark an alert of %s as sent", u.BizType), err)
		}
	}
}

// NotTold says that people could not be told, and when to try again.
func (l *Ledger) NotTold(ctx context.Context, u Untold, again time.Duration) error {
	_, err := l.exec(ctx, delayAlert, again.Microseconds(), string(u.Kind), u.BizType)
	return classify("put off an alert of "+u.BizType, err)
}
