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
// at whatever moment it was frozen; an answer that was on its way is good.
func TestAFrozenStarterHandsOutNothingThatWasRecovered(t *testing.T) {
	s := newStack(t)
	load := &load{stack: s, tickets: map[string]int{}}
	for range rounds(2, 200) {
		stop := load.run(t)
		before := load.count()
		testkit.Eventually(t, func() bool { return load.count() > before+20 }, "nothing is handed out")
		moment := time.NewTimer(time.Duration(rand.IntN(50)) * time.Millisecond)
		<-moment.C
		owner := s.owner(t)
		s.starter.Pause()
		testkit.Eventually(t, func() bool { return s.count(t, "owner = '"+owner+"'") == 0 }, "what the frozen starter held was not recovered")
		s.starter.Resume()
		frozen := load.count()
		testkit.Eventually(t, func() bool { return load.count() > frozen+20 }, "issuing did not go on")
		stop()
	}
	load.check(t)
	s.closure(t)
}

// owner is the issuer that lives.
func (s *stack) owner(t *testing.T) (id string) {
	t.Helper()
	testkit.Eventually(t, func() bool {
		return s.ledger.DB().QueryRowContext(t.Context(), "SELECT id FROM t_seq_issuer WHERE state = 'LIVE' ORDER BY started_time DESC LIMIT 1").Scan(&id) == nil
	}, "no issuer lives")
	return id
}

// load takes numbers as fast as two callers can, and remembers every ticket that was answered.
type load struct {
	*stack
	mu      sync.Mutex
	tickets map[string]int
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
				default:
					l.take(t)
				}
			}
		})
	}
	return func() { close(done); callers.Wait() }
}

// take asks once; a refusal, or a starter that is away, hands nothing out.
func (l *load) take(t *testing.T) {
	response, err := http.Post(l.starter.url+"/lacuna.v1.SequenceService/Next", "application/json", strings.NewReader(`{"bizType":"DEMO"}`)) //nolint:noctx // the starter ends it
	if err != nil {
		return
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	text := readAll(t, response.Body)
	_, rest, found := strings.Cut(text, `"ticket":"`)
	if !found {
		return
	}
	ticket, _, _ := strings.Cut(rest, `"`)
	l.mu.Lock()
	defer l.mu.Unlock()
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
