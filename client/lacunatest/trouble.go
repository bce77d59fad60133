package lacunatest

import (
	"context"
	"errors"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

// trouble stands before the service, as a network would.
type trouble struct {
	mu      sync.Mutex
	outages int
	fails   []error // of the calls to come
	lost    int     // answers of calls to come
}

// Outage answers every call UNAVAILABLE, and does none of it, until end is called or the test is over.
func (s *Server) Outage() (end func()) {
	s.trouble.mu.Lock()
	defer s.trouble.mu.Unlock()
	s.trouble.outages++
	return sync.OnceFunc(func() {
		s.trouble.mu.Lock()
		defer s.trouble.mu.Unlock()
		s.trouble.outages = max(0, s.trouble.outages-1)
	})
}

// Fail answers the next calls the error, as the service tells errors of package sequence, and does none of what they
// ask: a sequence.BusyError is RESOURCE_EXHAUSTED, and an error that the service does not know is INTERNAL. The
// client tries again after most of them. A *connect.Error is answered as it is, e.g. CodePermissionDenied for a token that
// may not.
func (s *Server) Fail(calls int, err error) {
	s.trouble.mu.Lock()
	defer s.trouble.mu.Unlock()
	for range calls {
		s.trouble.fails = append(s.trouble.fails, spoken(err))
	}
}

// spoken gives the bare errors of package sequence the words that the service would find for them.
func spoken(err error) error {
	var busy *sequence.BusyError
	var away *sequence.UnavailableError
	switch {
	case errors.Is(err, sequence.ErrBusy) && !errors.As(err, &busy):
		return &sequence.BusyError{What: err.Error(), RetryAfter: time.Millisecond}
	case errors.Is(err, sequence.ErrUnavailable) && !errors.As(err, &away):
		return &sequence.UnavailableError{What: err.Error()}
	}
	return err
}

// LoseAnswers does what the next calls ask, and answers them UNAVAILABLE all the same: the answer was lost on its way.
func (s *Server) LoseAnswers(calls int) {
	s.trouble.mu.Lock()
	defer s.trouble.mu.Unlock()
	s.trouble.lost += calls
}

// end ends what is left of it.
func (t *trouble) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outages, t.fails, t.lost = 0, nil, 0
}

// meets says what becomes of one call.
func (t *trouble) meets() (fault error, lose bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.outages > 0:
		return &sequence.UnavailableError{What: "the double has an outage"}, false
	case len(t.fails) > 0:
		fault, t.fails = t.fails[0], t.fails[1:]
		return fault, false
	case t.lost > 0:
		t.lost--
		return nil, true
	}
	return nil, false
}

// answered is what the caller sees of a fault.
func answered(fault error) error {
	var asItIs *connect.Error
	if errors.As(fault, &asItIs) {
		return asItIs
	}
	return wire.Error(fault)
}

// WrapUnary lets a call through, or not, or its answer.
func (t *trouble) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		fault, lose := t.meets()
		if fault != nil {
			return nil, answered(fault)
		}
		response, err := next(ctx, r)
		if lose {
			return nil, wire.Error(&sequence.UnavailableError{What: "the double lost the answer"})
		}
		return response, err
	}
}

// WrapStreamingClient changes nothing: the double calls nobody.
func (t *trouble) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler changes nothing: no call is a stream.
func (t *trouble) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
