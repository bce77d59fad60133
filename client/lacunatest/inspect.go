package lacunatest

import (
	"slices"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Numbers lists the numbers of a biz type that were ever issued, in the order of their values: those in one of the
// states, or all where none is named. It fails the test where there is no such biz type.
func (s *Server) Numbers(bizType string, states ...sequence.State) []sequence.Number {
	s.t.Helper()
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	of, err := s.memory.of(bizType)
	if err != nil {
		s.t.Fatalf("lacunatest: %v", err)
		return nil
	}
	var numbers []sequence.Number
	for _, r := range of.inOrder() {
		if len(states) == 0 || slices.Contains(states, r.number.State) {
			numbers = append(numbers, r.number)
		}
	}
	return numbers
}

// Confirmed lists the seq nos that are in business use.
func (s *Server) Confirmed(bizType string) []string {
	s.t.Helper()
	return seqNos(s.Numbers(bizType, sequence.Confirmed))
}

// Abandoned lists the seq nos that were given up, by their holders or in silence, and are not issued again yet.
func (s *Server) Abandoned(bizType string) []string {
	s.t.Helper()
	return seqNos(s.Numbers(bizType, sequence.Abandoned, sequence.Replayable))
}

// Outstanding lists the seq nos whose holders have said nothing yet.
func (s *Server) Outstanding(bizType string) []string {
	s.t.Helper()
	return seqNos(s.Numbers(bizType, sequence.Allocated))
}

func seqNos(numbers []sequence.Number) []string {
	var all []string
	for _, n := range numbers {
		all = append(all, n.SeqNo)
	}
	return all
}

// Await waits until the ticket's life of its number is in the state, e.g. for the confirm that InTx says off its
// caller's path, and fails the test after 10 s.
func (s *Server) Await(ticket string, state sequence.State) {
	s.t.Helper()
	asked, err := sequence.ParseTicket(ticket)
	if err != nil {
		s.t.Fatalf("lacunatest: %v", err)
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		found, changed := s.memory.look(asked)
		if found.Life == asked.Life && found.State == state {
			return
		}
		select {
		case <-changed:
		case <-timeout.C:
			s.t.Fatalf("lacunatest: %s did not become %s; it is at %s, %s", ticket, state, found.Ticket(), found.State)
		}
	}
}

// look gives a number as it stands, zero where it is not known, and what is closed when anything changes.
func (m *memory) look(t sequence.Ticket) (sequence.Number, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if of, ok := m.numbering[t.BizType]; ok {
		if r, ok := of.numbers[t.SeqNo]; ok {
			return r.number, m.changed
		}
	}
	return sequence.Number{}, m.changed
}
