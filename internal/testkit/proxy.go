package testkit

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/wait"
)

// Wire stands between clients and a server on loopback and breaks what it is told to.
type Wire struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	conns  map[net.Conn]bool
	refuse bool
	mute   bool          // every reply is lost
	muted  string        // replies to requests with this text are lost; empty: none
	unsent string        // requests with this text do not arrive; empty: none
	delay  time.Duration // of every reply
	slow   string        // replies to requests with this text come late; empty: none
	late   time.Duration
	opened int
	lost   int
}

// Proxy opens a wire to the target address; clients connect to its Address.
func Proxy(t testing.TB, target string) *Wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &Wire{listener: listener, target: target, conns: map[net.Conn]bool{}}
	ctx, cancel := context.WithCancel(context.Background()) // other cleanups may still need the wire
	go w.accept(ctx)
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		w.Cut()
	})
	return w
}

// Address is where clients connect.
func (w *Wire) Address() string { return w.listener.Addr().String() }

// Refuse makes the wire break new connections at once, or pass them on again. Open ones stay; see Cut.
func (w *Wire) Refuse(refuse bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = refuse
}

// Cut breaks every open connection.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		_ = c.Close()
	}
	clear(w.conns)
}

// LoseReplies lets requests through and breaks the connection instead of passing their replies on.
func (w *Wire) LoseReplies(lose bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mute = lose
}

// LoseRepliesTo does so with the replies to requests that contain the text, e.g. "COMMIT"; the
// empty text ends it.
func (w *Wire) LoseRepliesTo(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.muted = text
}

// LoseRequests breaks the connection instead of passing a request on that contains the text; the empty text ends it.
func (w *Wire) LoseRequests(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unsent = text
}

// Delay holds every reply back for d, in order; 0 ends it.
func (w *Wire) Delay(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = d
}

// DelayRepliesTo holds the replies to requests back that contain the text, e.g. the name of a table,
// for d; the empty text ends it.
func (w *Wire) DelayRepliesTo(text string, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slow, w.late = text, d
}

// Opened counts the connections that reached the target.
func (w *Wire) Opened() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opened
}

// Lost counts the replies and requests that were not passed on.
func (w *Wire) Lost() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// accept joins each client to the target until the listener is closed.
func (w *Wire) accept(ctx context.Context) {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !w.open(client, server) {
			w.shut(client, server)
			continue
		}
		go w.join(ctx, client, server)
	}
}

func (w *Wire) open(client, server net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse {
		return false
	}
	w.conns[client], w.conns[server] = true, true
	w.opened++
	return true
}

func (w *Wire) shut(conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(w.conns, c)
	}
}

// join passes requests and replies on until either side ends or a reply is lost.
func (w *Wire) join(ctx context.Context, client, server net.Conn) {
	var muted atomic.Bool // the last request is one that is not to be answered
	var late atomic.Int64 // by how much its reply comes late
	go func() {
		defer w.shut(client, server)
		pass(server, client, func(request []byte) bool {
			muted.Store(w.mutes(request))
			late.Store(int64(w.delays(request)))
			return !w.withholds(request)
		})
	}()
	defer w.shut(client, server)
	pass(client, server, func([]byte) bool { return w.reply(ctx, muted.Load(), time.Duration(late.Load())) })
}

// delays says by how much the reply to a request comes late.
func (w *Wire) delays(request []byte) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.slow != "" && bytes.Contains(request, []byte(w.slow)) {
		return w.late
	}
	return 0
}

// withholds says whether a request is one that is not to arrive.
func (w *Wire) withholds(request []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unsent == "" || !bytes.Contains(request, []byte(w.unsent)) {
		return false
	}
	w.lost++
	return true
}

// mutes says whether a request is one whose reply is to be lost.
func (w *Wire) mutes(request []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.muted != "" && bytes.Contains(request, []byte(w.muted))
}

// reply says whether the reply that just came is passed on, when it is time to.
func (w *Wire) reply(ctx context.Context, muted bool, late time.Duration) bool {
	w.mu.Lock()
	lost, delay := w.mute || muted, w.delay+late
	if lost {
		w.lost++
	}
	w.mu.Unlock()
	return !lost && (delay == 0 || wait.For(ctx, delay) == nil)
}

// pass copies from one side to the other what may pass, until either ends or something may not.
func pass(to io.Writer, from io.Reader, may func([]byte) bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !may(buffer[:n]) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
