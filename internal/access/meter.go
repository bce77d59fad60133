package access

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/lacuna-seq/lacuna/sequence"
)

// meter counts what one token does at this process.
type meter struct {
	calls *rate.Limiter

	mu        sync.Mutex
	minute    int64 // which minute abandoned counts in
	abandoned int64
	untold    int64 // of them, since the last excess
	budget    int64
	over      []Excess
}

// Excess is what a token abandoned in a minute in which it went over its budget. Several of one minute add up.
type Excess struct {
	Token     string
	Budget    int64 // numbers a minute
	Abandoned int64
}

func newMeter(t *Token) *meter {
	calls := t.EffectiveRate()
	return &meter{calls: rate.NewLimiter(rate.Limit(calls), calls), budget: t.EffectiveBudget()}
}

// Call counts a call. Over the rate it is a sequence.BusyError with the time to wait.
func (h *Holder) Call(now time.Time) error {
	if h.meter == nil || h.meter.calls.AllowN(now, 1) {
		return nil
	}
	limit := h.meter.calls.Limit()
	missing := 1 - h.meter.calls.TokensAt(now)
	wait := time.Duration(missing / float64(limit) * float64(time.Second))
	return &sequence.BusyError{What: fmt.Sprintf("the token %s makes more than %.0f calls a second", h.Name, float64(limit)), RetryAfter: max(wait, time.Millisecond)}
}

// Abandoned counts numbers that the holder abandoned. They are abandoned whatever the budget says: over it,
// people are told.
func (h *Holder) Abandoned(count int64, now time.Time) {
	if h.meter == nil || count == 0 {
		return
	}
	h.meter.mu.Lock()
	defer h.meter.mu.Unlock()
	h.meter.turn(h.Name, now)
	h.meter.abandoned += count
	h.meter.untold += count
}

// turn begins a new minute where one has passed, and keeps what the last one went over its budget.
func (m *meter) turn(name string, now time.Time) {
	minute := now.Unix() / 60
	if minute == m.minute {
		return
	}
	if m.abandoned > m.budget && m.untold > 0 {
		m.over = append(m.over, Excess{Token: name, Budget: m.budget, Abandoned: m.untold})
	}
	m.minute, m.abandoned, m.untold = minute, 0, 0
}

// takeExcess gives what people are to be told: at once when the budget is passed, and the rest of that minute
// when it is over.
func (m *meter) takeExcess(name string, now time.Time) []Excess {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn(name, now)
	if m.abandoned > m.budget && m.untold == m.abandoned {
		m.over = append(m.over, Excess{Token: name, Budget: m.budget, Abandoned: m.untold})
		m.untold = 0
	}
	over := m.over
	m.over = nil
	return over
}
