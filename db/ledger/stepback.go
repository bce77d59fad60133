package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	raiseTide = `UPDATE t_seq_tide SET height = height + 1 WHERE id = 1`
	liftTide  = `UPDATE t_seq_tide SET height = ? WHERE id = 1 AND height < ?`
	queryTide = `SELECT height FROM t_seq_tide WHERE id = 1`
	// The last period of each biz type, by the ends of the index.
	queryNewestCursors = `SELECT c.biz_type, c.period, c.value FROM t_seq_cursor c
		JOIN (SELECT biz_type, MAX(period) AS period FROM t_seq_cursor GROUP BY biz_type) m ON m.biz_type = c.biz_type AND m.period = c.period`
	lockBizTypeNames = `SELECT name, stepped_back FROM t_seq_biz_type ORDER BY name FOR UPDATE`
	stopBizType      = `UPDATE t_seq_biz_type SET stepped_back = ? WHERE name = ? AND stepped_back < ?`
	endSessions      = `DELETE FROM t_seq_session`
	insertStepBack   = `INSERT INTO t_seq_step_back (biz_type, behind, reason, found_time) VALUES (?, ?, ?, UTC_TIMESTAMP(6))`
)

// beatEvery is how often a process raises the tide and looks whether the ledger is behind. What was lost of a
// shorter time than that shows by a cursor only.
const beatEvery = time.Second

// Watch raises the tide, remembers how far the ledger is, and looks whether it has stepped back, until ctx ends. A
// biz type that has is stopped for all processes.
func (l *Ledger) Watch(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	forgetful := false
	for {
		beat, cancel := context.WithTimeout(ctx, 5*time.Second)
		if err := l.Beat(beat); err != nil {
			l.log.DebugContext(ctx, "whether the ledger has stepped back could not be seen", "error", err)
		}
		err := l.remember(beat)
		if err != nil && !forgetful && ctx.Err() == nil {
			l.log.WarnContext(ctx, "how far the ledger is could not be remembered outside of it; trying on", "error", err)
		}
		forgetful = err != nil
		cancel()
		select {
		case <-tick.C:
		case <-l.seen.nudge:
			_ = wait.For(ctx, beatEvery/20) // the blocks of a rush are told together; the select above ends with ctx
		case <-ctx.Done():
			return
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// Beat is one look of Watch.
func (l *Ledger) Beat(ctx context.Context) error {
	// What was seen is read before the ledger is: nothing that others do meanwhile can make it look behind.
	known, marks := l.seen.newest()
	var height int64
	err := l.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, raiseTide); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, queryTide).Scan(&height)
	})
	if err != nil {
		return classify("raise the tide", err) // where only the COMMIT's answer was lost, the height may be none that the ledger has
	}
	rows, err := l.db.QueryContext(ctx, queryNewestCursors)
	cursors, err := collect(rows, err, func(row row) (m sequence.Mark, err error) {
		return m, row.Scan(&m.BizType, &m.Period, &m.Value)
	})
	if err != nil {
		return classify("read the cursors", err)
	}
	// The one that this beat made is above all that were seen, if the ledger is the one that it was.
	if height <= known {
		return l.stop(ctx, stepBack{all: true, tide: known, types: behindOf(marks, cursors), reason: tideReason(height, known)})
	}
	l.seen.add(height, cursors...)
	behind, err := l.unstopped(ctx, behindOf(marks, cursors))
	if err != nil || len(behind) == 0 {
		return err
	}
	return l.stop(ctx, stepBack{types: behind, reason: "a cursor is below the highest that was seen"})
}

// unstopped leaves out of what is behind what is stopped already, or unknown to the ledger.
func (l *Ledger) unstopped(ctx context.Context, behind map[string]int64) (map[string]int64, error) {
	if len(behind) == 0 {
		return nil, nil
	}
	types, err := l.BizTypes(ctx)
	found := map[string]int64{}
	for _, b := range types {
		if n := behind[b.Name]; n > 0 && b.SteppedBack == 0 {
			found[b.Name] = n
		}
	}
	return found, err
}

func tideReason(height, known int64) string {
	return fmt.Sprintf("its tide is at %d, and %d was seen", height, known)
}

// behindOf says of each biz type by how much its newest cursor is behind its mark.
func behindOf(marks, cursors []sequence.Mark) map[string]int64 {
	at := make(map[string]sequence.Mark, len(cursors))
	for _, c := range cursors {
		at[c.BizType] = c
	}
	behind := map[string]int64{}
	for _, m := range marks {
		c, ok := at[m.BizType]
		switch {
		case !ok || c.Period < m.Period: // the whole period is lost
			behind[m.BizType] = max(1, m.Value)
		case c.Period == m.Period && c.Value < m.Value:
			behind[m.BizType] = m.Value - c.Value
		}
	}
	return behind
}

// stepBack is what shows that the ledger has stepped back.
type stepBack struct {
	all    bool             // every biz type is meant, however far its cursor is
	tide   int64            // the highest that was seen
	types  map[string]int64 // by how much each is behind
	reason string
}

// stop stops biz types for all processes, until they are raised. Where the tide shows it those are all that there
// are: whatever the ledger says of any number may be old. Stopping what is stopped changes nothing.
func (l *Ledger) stop(ctx context.Context, found stepBack) error {
	var stopped []string
	err := l.inTx(ctx, func(tx *sql.Tx) error {
		stopped = nil
		rows, err := tx.QueryContext(ctx, lockBizTypeNames)
		type standing struct {
			name   string
			behind int64
		}
		all, err := collect(rows, err, func(row row) (s standing, err error) { return s, row.Scan(&s.name, &s.behind) })
		if err != nil {
			return err
		}
		for _, s := range all {
			behind, means := found.types[s.name]
			if !found.all && !means {
				continue
			}
			behind = max(1, behind)
			if _, err := tx.ExecContext(ctx, stopBizType, behind, s.name, behind); err != nil {
				return err
			}
			if s.behind > 0 && !found.all {
				continue
			}
			if _, err := tx.ExecContext(ctx, insertStepBack, s.name, behind, found.reason); err != nil {
				return err
			}
			stopped = append(stopped, s.name)
		}
		if found.all { // those that ended since are open in it again
			if _, err := tx.ExecContext(ctx, endSessions); err != nil {
				return err
			}
		}
		// From here on the types say it, and the ledger is what is seen again.
		_, err = tx.ExecContext(ctx, liftTide, found.tide+1, found.tide+1)
		return err
	})
	if err != nil {
		return classify("stop what stepped back", err)
	}
	if len(stopped) > 0 {
		l.log.ErrorContext(ctx, "the ledger has stepped back; nothing of these biz types is issued or brought back until it is raised: lacuna ledger raise",
			"biz_types", stopped, "reason", found.reason)
	}
	return nil
}

// checkTide compares the ledger with what was seen of it, inside a transaction that takes numbers.
func (l *Ledger) checkTide(ctx context.Context, tx *sql.Tx, bizType string) error {
	known := l.seen.highestTide()
	var height int64
	if err := tx.QueryRowContext(ctx, queryTide).Scan(&height); err != nil {
		return fmt.Errorf("read the tide: %w", err)
	}
	if height >= known {
		return nil
	}
	return &behindError{
		SteppedBackError: sequence.SteppedBackError{BizType: bizType, Behind: 1, Reason: tideReason(height, known)},
		found:            stepBack{all: true, tide: known, reason: tideReason(height, known)},
	}
}

// checkCursor compares a locked cursor with the highest that was seen.
func (l *Ledger) checkCursor(c cursor) error {
	known, ok := l.seen.cursor(c.bizType, c.period)
	if !ok || c.value >= known {
		return nil
	}
	reason := fmt.Sprintf("its cursor is at %d, and %d was seen", c.value, known)
	return &behindError{
		SteppedBackError: sequence.SteppedBackError{BizType: c.bizType, Behind: known - c.value, Reason: reason},
		found:            stepBack{types: map[string]int64{c.bizType: known - c.value}, reason: reason},
	}
}

// behindError is a step back that a transaction found, which is rolled back: it is not written down yet.
type behindError struct {
	sequence.SteppedBackError
	found stepBack
}

// settleBehind writes a step back down that a transaction found, and gives the error for its caller.
func (l *Ledger) settleBehind(ctx context.Context, err error) error {
	var behind *behindError
	if !errors.As(err, &behind) {
		return err
	}
	return errors.Join(&behind.SteppedBackError, l.stop(ctx, behind.found))
}
