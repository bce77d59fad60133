package e2e

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// A process that is frozen past its lease and woken again hands out nothing more of what it held,
// at whatever moment it was frozen; an answer that was on its way is good. Four starters share the
// rounds, each frozen at a moment of its own.
func TestAFrozenStarterHandsOutNothingThatWasRecovered(t *testing.T) {
	s := newStack(t)
	loads := []*load{newLoad(s, s.starter)}
	for range rounds(1, 3) {
		p := s.program(t, "starter")
		s.ready(t, p)
		loads = append(loads, newLoad(s, p))
	}
	for range rounds(2, 50) {
		stops := make([]func(), len(loads))
		for i, l := range loads {
			stops[i] = l.run(t)
		}
		before := s.liveIssuers(t)
		var frozen sync.WaitGroup
		for _, l := range loads {
			taken := l.count()
			testkit.Eventually(t, func() bool { return l.count() > taken+20 }, "nothing is handed out")
			frozen.Go(func() {
				moment := time.NewTimer(time.Duration(rand.IntN(50)) * time.Millisecond)
				<-moment.C
				l.starter.Pause()
			})
		}
		frozen.Wait()
		for _, owner := range before {
			testkit.Eventually(t, func() bool { return s.count(t, "owner = '"+owner+"'") == 0 }, "what a frozen starter held was not recovered")
		}
		for i, l := range loads {
			taken := l.count()
			l.starter.Resume()
			testkit.Eventually(t, func() bool { return l.count() > taken+20 }, "issuing did not go on")
			require.Regexp(t, `(?m)^lacuna_leases_lost_total [1-9]`, s.scrape(t, l.starter))
			stops[i]()
		}
	}
	all := newLoad(s, s.starter)
	for _, l := range loads {
		for ticket, times := range l.tickets {
			all.tickets[ticket] += times
		}
	}
	all.check(t)
	s.closure(t)
}

// liveIssuers are those that live.
func (s *stack) liveIssuers(t *testing.T) (ids []string) {
	t.Helper()
	rows, err := s.ledger.DB().QueryContext(t.Context(), "SELECT id FROM t_seq_issuer WHERE state = 'LIVE' AND lease_until > UTC_TIMESTAMP(6)")
	require.NoError(t, err)
	defer rows.Close() //nolint:errcheck // it was read
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(t, rows.Err())
	return ids
}

// owner is the issuer that lives.
func (s *stack) owner(t *testing.T) (id string) {
	t.Helper()
	testkit.Eventually(t, func() bool {
		return s.ledger.DB().QueryRowContext(t.Context(), "SELECT id FROM t_seq_issuer WHERE state = 'LIVE' ORDER BY started_time DESC LIMIT 1").Scan(&id) == nil
	}, "no issuer lives")
	return id
}

// load takes numbers of one starter as fast as two callers can, and remembers every ticket that was
// answered, and every answer that a caller may not take for "try again".
type load struct {
	*stack
	starter *process
	pace    time.Duration // between two calls of one caller
	mu      sync.Mutex
	tickets map[string]int
	faults  []string
}

func newLoad(s *stack, starter *process) *load {
	return &load{stack: s, starter: starter, tickets: map[string]int{}}
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.tickets)
}

func (l *load) run(t *testing.T) (stop func()) {
	done := make(chan struct{})
	var callers sync.WaitGroup
	for range 2 {
		callers.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(l.pace):
					l.take(t)
				}
			}
		})
	}
	return func() { close(done); callers.Wait() }
}

// take asks once; a refusal, or a starter that is away, hands nothing out.
func (l *load) take(t *testing.T) {
	request, err := http.NewRequest(http.MethodPost, l.starter.url+"/lacuna.v1.SequenceService/Next", strings.NewReader(`{"bizType":"DEMO"}`)) //nolint:noctx // the starter ends it
	if err != nil {
		return
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := l.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	text := readAll(t, response.Body)
	_, rest, found := strings.Cut(text, `"ticket":"`)
	ticket, _, _ := strings.Cut(rest, `"`)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !found {
		if response.StatusCode != http.StatusOK { // an answer that was cut short is none
			l.faults = append(l.faults, text)
		}
		return
	}
	l.tickets[ticket]++
}

// check holds every answered ticket against the ledger.
func (l *load) check(t *testing.T) {
	t.Helper()
	t.Logf("%d tickets", len(l.tickets))
	for ticket, times := range l.tickets {
		require.Equal(t, 1, times, "%s has two holders", ticket)
		parsed, err := sequence.ParseTicket(ticket)
		require.NoError(t, err)
		testkit.Eventually(t, func() bool { return l.row(t, parsed.BizType, parsed.SeqNo).Life >= parsed.Life }, "the ledger never heard of %s", ticket)
	}
}
