package ledger

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Activity is counted in memory and written every two seconds: a counter that every settlement raised would be a
// row for which all of them wait. A process that dies loses what it counted since.
const (
	activityEvery       = 2 * time.Second
	activityTimeout     = 5 * time.Second
	lastActivityTimeout = time.Second
	// purgeActivityEvery is how many writes a process makes between two looks for minutes that nobody asks for.
	purgeActivityEvery = 30
)

const (
	insertActivity = `INSERT INTO t_seq_activity (biz_type, minute_time, issued, confirmed, abandoned) VALUES `
	anActivity     = `(?, UTC_TIMESTAMP() - INTERVAL SECOND(UTC_TIMESTAMP()) SECOND, ?, ?, ?)`
	addActivity    = ` ON DUPLICATE KEY UPDATE issued = issued + VALUES(issued), confirmed = confirmed + VALUES(confirmed), abandoned = abandoned + VALUES(abandoned)`
	purgeActivity  = `DELETE FROM t_seq_activity WHERE minute_time < UTC_TIMESTAMP() - INTERVAL 1 DAY ORDER BY minute_time LIMIT 2000`
)

// Moves is how many numbers changed their state.
type Moves struct {
	Issued    int64 // lives that began
	Confirmed int64
	Abandoned int64 // by their callers, or by silence
}

func (m *Moves) add(o Moves) {
	m.Issued += o.Issued
	m.Confirmed += o.Confirmed
	m.Abandoned += o.Abandoned
}

// note counts one decision.
func (m *Moves) note(was, is sequence.Number) {
	if is.Life > was.Life {
		m.Issued++
	}
	if is.State == sequence.Confirmed && was.State != sequence.Confirmed {
		m.Confirmed++
	}
	// What a person sends back from the dead letters was given up before.
	if is.State == sequence.Abandoned && was.State != sequence.Abandoned && was.State != sequence.Dead {
		m.Abandoned++
	}
}

// activityCounts is what was counted and is not written yet, by biz type.
type activityCounts struct {
	mu    sync.Mutex
	moves map[string]Moves
}

func (a *activityCounts) add(moves map[string]Moves) {
	if len(moves) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.moves == nil {
		a.moves = map[string]Moves{}
	}
	for name, m := range moves {
		sum := a.moves[name]
		sum.add(m)
		a.moves[name] = sum
	}
}

func (a *activityCounts) take() map[string]Moves {
	a.mu.Lock()
	defer a.mu.Unlock()
	moves := a.moves
	a.moves = nil
	return moves
}

// FlushActivity writes what this process counted. What could not be written is kept and written with the next
// call; only what an unknown COMMIT held is dropped, since writing it again might count it twice.
func (l *Ledger) FlushActivity(ctx context.Context) error {
	moves := l.activity.take()
	names := make([]string, 0, len(moves))
	for name := range moves {
		names = append(names, name)
	}
	slices.Sort(names) // processes that write at the same time lock the rows in one order
	for len(names) > 0 {
		n := min(len(names), MaxBatch)
		args := make([]any, 0, 4*n)
		for _, name := range names[:n] {
			m := moves[name]
			args = append(args, name, m.Issued, m.Confirmed, m.Abandoned)
		}
		_, err := l.exec(ctx, insertActivity+strings.TrimSuffix(strings.Repeat(anActivity+",", n), ",")+addActivity, args...)
		if err == nil || errors.Is(err, errCommitUnknown) {
			for _, name := range names[:n] {
				delete(moves, name)
			}
		}
		if err != nil {
			l.activity.add(moves)
			return classify("write what happened", err)
		}
		names = names[n:]
	}
	return nil
}

// KeepActivity writes what this process counts every two seconds, until ctx ends, and once more then.
func (l *Ledger) KeepActivity(ctx context.Context) {
	tick := time.NewTicker(activityEvery)
	defer tick.Stop()
	do := func(timeout time.Duration, tasks ...func(context.Context) error) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		for _, task := range tasks {
			if err := task(limited); err != nil {
				l.log.DebugContext(ctx, "what happened was not written down for the console; trying again", "error", err)
				return
			}
		}
	}
	for i := 1; ; i++ {
		select {
		case <-tick.C:
			do(activityTimeout, l.FlushActivity)
			if i%purgeActivityEvery == 0 {
				do(activityTimeout, l.PurgeActivity)
			}
		case <-ctx.Done():
			do(lastActivityTimeout, l.FlushActivity)
			return
		}
	}
}

// PurgeActivity deletes minutes of more than a day ago.
func (l *Ledger) PurgeActivity(ctx context.Context) error {
	_, err := l.exec(ctx, purgeActivity)
	return classify("delete old minutes", err)
}
