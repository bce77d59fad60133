package lacunatest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/client"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

// patience is how long Await and the end of a client wait for what other goroutines do.
const patience = 10 * time.Second

// Server is a double of the service. It is safe for concurrent use.
type Server struct {
	// URL is where it serves, over plain HTTP: Connect, gRPC-Web and JSON.
	URL string

	t       testing.TB
	memory  *memory
	trouble *trouble
}

// New serves a double until the test ends. It has no biz type yet; see BizType.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, memory: newMemory(time.Now()), trouble: &trouble{}}
	options := connect.WithHandlerOptions(wire.Options(), connect.WithInterceptors(s.trouble))
	mux := http.NewServeMux()
	serve := func(path string, h http.Handler) { mux.Handle(path, wire.Bound(h)) }
	serve(lacunav1connect.NewSequenceServiceHandler(&wire.Service{Issuing: s.memory}, options))
	serve(lacunav1connect.NewOperatorServiceHandler(&operator{memory: s.memory}, options))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// BizType makes a numbering with the default rules and what change does to them, or changes one: then the format,
// the time zone, the source and the start must stay as they were. It fails the test where the rules are not valid.
func (s *Server) BizType(name, format string, change ...func(*sequence.BizType)) {
	s.t.Helper()
	f, err := sequence.ParseFormat(format)
	if err != nil {
		s.t.Fatalf("lacunatest: biz type %s: %v", name, err)
	}
	rules := sequence.NewBizType(name, f)
	for _, c := range change {
		c(&rules)
	}
	if err := s.memory.put(rules); err != nil {
		s.t.Fatalf("lacunatest: biz type %s: %v", name, err)
	}
}

// Client gives a client of the double, which is closed at the end of the test: what InTx has left to say is said by
// then. It logs nothing unless an option says where to.
func (s *Server) Client(opts ...client.Option) *client.Client {
	s.t.Helper()
	c, err := client.Dial(s.URL, append([]client.Option{client.WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	if err != nil {
		s.t.Fatalf("lacunatest: %v", err)
	}
	s.t.Cleanup(func() {
		s.trouble.end()
		ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own is over
		defer cancel()
		if err := c.Close(ctx); err != nil {
			s.t.Errorf("lacunatest: %v", err)
		}
	})
	return c
}

// Now is the double's time. It begins with the machine's and stands still but for Advance. What callers are told to
// confirm by is as far from the machine's time as the deadline is from this one.
func (s *Server) Now() time.Time { return s.memory.time() }

// Advance lets time pass: what is not confirmed in time is given up, and what has waited out its window is free or
// retired, each at its own moment and in their order.
func (s *Server) Advance(d time.Duration) { s.memory.advance(d) }
