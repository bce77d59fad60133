package lacunatest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

// owner is the one issuer that there is.
const owner = "lacunatest"

// memory is the whole ledger: it is the wire.Issuing of the double.
type memory struct {
	mu        sync.Mutex
	now       time.Time
	numbering map[string]*numbering
	batches   int
	changed   chan struct{} // closed and made anew by every change
}

// numbering is a biz type with its numbers.
type numbering struct {
	rules   sequence.BizType
	cursor  map[string]int64 // by period: the highest value that was allocated
	numbers map[string]*record
	keys    map[string]keyed
}

// record is a number and what came before.
type record struct {
	number  sequence.Number
	history wire.History // without its Number
}

func newMemory(now time.Time) *memory {
	return &memory{now: now.UTC().Truncate(time.Microsecond), numbering: map[string]*numbering{}, changed: make(chan struct{})}
}

func (m *memory) time() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// put makes a biz type or changes its rules; deadlines follow them.
func (m *memory) put(rules sequence.BizType) error {
	if err := rules.Validate(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, ok := m.numbering[rules.Name]
	if !ok {
		rules.Revision = 1
		m.numbering[rules.Name] = &numbering{rules: rules, cursor: map[string]int64{}, numbers: map[string]*record{}, keys: map[string]keyed{}}
		return nil
	}
	was := old.rules
	if rules.Format.String() != was.Format.String() || rules.TimeZone.String() != was.TimeZone.String() || rules.Source != was.Source || rules.Start != was.Start {
		return sequence.Invalidf("bizType", "the format, the time zone, the source and the start stay as they are")
	}
	rules.Revision = was.Revision + 1
	old.rules = rules
	for _, r := range old.numbers {
		m.decide(old, r, sequence.Command{Kind: sequence.Retime, Ticket: r.number.Ticket()})
	}
	m.pass(m.now)
	return nil
}

// of gives a numbering; sequence.ErrNotFound where there is none. The caller holds mu.
func (m *memory) of(bizType string) (*numbering, error) {
	n, ok := m.numbering[bizType]
	if !ok {
		return nil, fmt.Errorf("biz type %s: %w", bizType, sequence.ErrNotFound)
	}
	return n, nil
}

// decide carries a command out and keeps what the ledger would. The caller holds mu.
func (m *memory) decide(of *numbering, r *record, c sequence.Command) sequence.Decision {
	was := r.number
	d := sequence.Decide(of.rules, was, c, m.now)
	r.number = d.Number
	if d.Event != nil {
		r.history.Events = append(r.history.Events, wire.Event{Event: *d.Event, Time: m.now})
	}
	switch {
	case c.Kind == sequence.Claim && d.Outcome == sequence.OutcomeClaimed && was.Life > 0:
		r.history.Lives = append(r.history.Lives, wire.Life{
			Ticket: was.Ticket(), BatchID: was.BatchID, BizKey: was.BizKey,
			IssuedTime: was.IssuedTime, AbandonedTime: was.AbandonedTime, Reason: was.Reason,
		})
	case c.Kind == sequence.Confirm && d.Outcome == sequence.OutcomeConflict:
		r.met(wire.Conflict{Asked: c.Ticket, Current: was.Ticket(), AskedBizKey: c.BizKey, CurrentBizKey: was.BizKey, Time: m.now})
	}
	if d.Changed {
		close(m.changed)
		m.changed = make(chan struct{})
	}
	return d
}

func (m *memory) advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	end := m.now.Add(d)
	m.pass(end)
	m.now = end
}

// pass acts on every deadline up to the end, each at its time. The caller holds mu.
func (m *memory) pass(end time.Time) {
	for {
		due, at := m.nextDue()
		if len(due) == 0 || at.After(end) {
			return
		}
		m.now = latest(m.now, at)
		for _, d := range due {
			c := sequence.Command{Kind: sequence.Check, Ticket: d.number.Ticket()}
			if d.number.State == sequence.Abandoned {
				c.Kind, c.Probed = sequence.Replay, true
			}
			m.decide(d.of, d.record, c)
		}
	}
}

// overdue is a number whose time it is.
type overdue struct {
	of *numbering
	*record
}

// nextDue finds the numbers whose deadline is the earliest, in the order of biz type, period and value.
func (m *memory) nextDue() (first []overdue, at time.Time) {
	for _, name := range slices.Sorted(maps.Keys(m.numbering)) {
		n := m.numbering[name]
		for _, r := range n.inOrder() {
			due := r.number.Deadline
			switch r.number.State {
			case sequence.Allocated:
			case sequence.Abandoned:
				due = latest(due, r.number.AbandonedTime.Add(n.rules.SafetyWindow))
			default:
				continue
			}
			if len(first) == 0 || due.Before(at) {
				first, at = nil, due
			}
			if due.Equal(at) {
				first = append(first, overdue{n, r})
			}
		}
	}
	return first, at
}

// inOrder lists the numbers by period and value.
func (n *numbering) inOrder() []*record {
	all := make([]*record, 0, len(n.numbers))
	for _, r := range n.numbers {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *record) int {
		return cmp.Or(cmp.Compare(a.number.Period, b.number.Period), cmp.Compare(a.number.Value, b.number.Value))
	})
	return all
}

// met keeps a conflict; a confirm that is repeated adds no second one.
func (r *record) met(c wire.Conflict) {
	known := slices.ContainsFunc(r.history.Conflicts, func(k wire.Conflict) bool {
		return k.Asked == c.Asked && k.AskedBizKey == c.AskedBizKey && k.Current == c.Current
	})
	if !known {
		r.history.Conflicts = append(r.history.Conflicts, c)
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
