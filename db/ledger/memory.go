package ledger

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Memory keeps what processes have seen of the ledger outside of it, so that a ledger that stepped back is known
// for one by a process that has just been started. It is the pool's Redis.
type Memory interface {
	// Remember keeps the tide and the marks where they are higher than what is kept, and gives what is kept of the
	// same then. The error is a sequence.UnavailableError.
	Remember(ctx context.Context, tide int64, marks []sequence.Mark) (int64, []sequence.Mark, error)
	// Recall gives the tide, and the marks of a biz type; 0 and none where nothing is kept. The error is a
	// sequence.UnavailableError.
	Recall(ctx context.Context, bizType string) (int64, []sequence.Mark, error)
}

// WithMemory compares the ledger with what other processes have seen of it, too. Without one only with what this
// process has.
func WithMemory(memory Memory) Option {
	return func(o *options) { o.memory = memory }
}

// Bounds of the memory.
const (
	// recallTimeout ends one question to the memory.
	recallTimeout = time.Second
	// recallAgain is when a memory that was away is asked again before an allocation.
	recallAgain = 5 * time.Second
)

type scopeKey struct{ bizType, period string }

// seen is what this process has seen of the ledger: its tide, and the highest cursor of each period. It only grows.
type seen struct {
	mu      sync.Mutex
	tide    int64
	cursors map[scopeKey]int64
	// recalled: the marks of which biz types were read from the memory, or when that was last tried.
	recalled map[string]time.Time
	nudge    chan struct{} // there is something new to remember
}

func newSeen() *seen {
	return &seen{cursors: map[scopeKey]int64{}, recalled: map[string]time.Time{}, nudge: make(chan struct{}, 1)}
}

// add takes on what is higher than what was seen.
func (s *seen) add(tide int64, marks ...sequence.Mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tide = max(s.tide, tide)
	for _, m := range marks {
		key := scopeKey{m.BizType, m.Period}
		if was, ok := s.cursors[key]; !ok || m.Value > was {
			s.cursors[key] = m.Value
		}
	}
}

// allocated is add for a block of this process, which others are to know of at once.
func (s *seen) allocated(m sequence.Mark) {
	s.add(0, m)
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

// cursor is the highest that was seen of a period; ok is false where none was.
func (s *seen) cursor(bizType, period string) (value int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok = s.cursors[scopeKey{bizType, period}]
	return value, ok
}

func (s *seen) highestTide() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tide
}

// newest gives the tide, and the mark of each biz type's last period: the others do not move any more.
func (s *seen) newest() (tide int64, marks []sequence.Mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := map[string]string{}
	for key := range s.cursors {
		last[key.bizType] = max(last[key.bizType], key.period)
	}
	for _, bizType := range slices.Sorted(maps.Keys(last)) {
		period := last[bizType]
		marks = append(marks, sequence.Mark{BizType: bizType, Period: period, Value: s.cursors[scopeKey{bizType, period}]})
	}
	return s.tide, marks
}

// of gives the marks of a biz type in the order of their periods.
func (s *seen) of(bizType string) []sequence.Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	var marks []sequence.Mark
	for key, value := range s.cursors {
		if key.bizType == bizType {
			marks = append(marks, sequence.Mark{BizType: bizType, Period: key.period, Value: value})
		}
	}
	slices.SortFunc(marks, func(a, b sequence.Mark) int { return strings.Compare(a.Period, b.Period) })
	return marks
}

// toRecall reports whether the memory is to be asked about the biz type now, and that it is being.
func (s *seen) toRecall(bizType string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next, ok := s.recalled[bizType]; ok && now.Before(next) {
		return false
	}
	s.recalled[bizType] = now.Add(recallAgain)
	return true
}

// hasRecalled says that the memory need not be asked about the biz type any more.
func (s *seen) hasRecalled(bizType string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recalled[bizType] = time.Now().Add(100 * 365 * 24 * time.Hour)
}

// recall asks the memory for what others have seen of a biz type, once in this process's life and before it first
// takes numbers of it. A memory that is away keeps nobody from issuing: it is asked again, and compared with as
// soon as it answers.
func (l *Ledger) recall(ctx context.Context, bizType string) {
	if l.memory == nil || !l.seen.toRecall(bizType, time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recallTimeout)
	defer cancel()
	tide, marks, err := l.memory.Recall(ctx, bizType)
	if err != nil {
		l.log.WarnContext(ctx, "what others have seen of the ledger could not be asked for; going by what this process has seen",
			"biz_type", bizType, "error", err)
		return
	}
	l.seen.add(tide, marks...)
	l.seen.hasRecalled(bizType)
}

// remember tells the memory what this process has seen, and learns what others have.
func (l *Ledger) remember(ctx context.Context) error {
	if l.memory == nil {
		return nil
	}
	tide, marks := l.seen.newest()
	tide, marks, err := l.memory.Remember(ctx, tide, marks)
	if err != nil {
		return err
	}
	l.seen.add(tide, marks...)
	return nil
}

// HasAllocated reports whether the ledger has ever given a number: there is nothing that one without could step back from.
func (l *Ledger) HasAllocated(ctx context.Context) (has bool, err error) {
	err = l.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM t_seq_cursor)").Scan(&has)
	return has, classify("look whether numbers were allocated", err)
}
