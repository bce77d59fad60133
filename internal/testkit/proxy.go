package testkit

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Wire stands between clients and a server on loopback and breaks what it is told to.
type Wire struct {
	listener net.Listener
	target   string

	mu      sync.Mutex
	conns   map[net.Conn]bool
	refuse  bool
	deaf    bool
	answers string // replies to requests with this text are lost
	dropped int
}

// Proxy opens a wire to the target address; clients connect to its Address.
func Proxy(t testing.TB, target string) *Wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &Wire{listener: listener, target: target, conns: map[net.Conn]bool{}}
	go w.accept()
	t.Cleanup(func() {
		_ = listener.Close()
		w.Cut()
	})
	return w
}

// Address is where clients connect.
func (w *Wire) Address() string { return w.listener.Addr().String() }

// Refuse makes the wire refuse new connections, or accept them again. Open ones stay; see Cut.
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
	w.deaf = lose
}

// LoseRepliesTo does so only with the replies to requests that contain the text, e.g. "COMMIT"; the
// empty text ends it.
func (w *Wire) LoseRepliesTo(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = text
}

// Lost counts the replies that were not passed on.
func (w *Wire) Lost() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

func (w *Wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.target)
		if err != nil || !w.keep(client, server) {
			_ = client.Close()
			if server != nil {
				_ = server.Close()
			}
			continue
		}
		var asked atomic.Bool // for what is not to be answered
		go w.pass(server, client, func(request []byte) bool {
			asked.Store(w.isUnanswered(request))
			return false
		})
		go w.pass(client, server, func([]byte) bool { return w.lose(asked.Load()) })
	}
}

func (w *Wire) keep(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse {
		return false
	}
	for _, c := range conns {
		w.conns[c] = true
	}
	return true
}

// isUnanswered says whether a request is one whose reply is to be lost.
func (w *Wire) isUnanswered(request []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answers != "" && bytes.Contains(request, []byte(w.answers))
}

// lose says whether the reply that just came is to be lost.
func (w *Wire) lose(asked bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deaf || asked {
		w.dropped++
		return true
	}
	return false
}

// pass copies from one side to the other until either ends.
func (w *Wire) pass(to, from net.Conn, lose func([]byte) bool) {
	defer to.Close()   //nolint:errcheck // the end of a connection
	defer from.Close() //nolint:errcheck // the end of a connection
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if lose(buffer[:n]) {
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
