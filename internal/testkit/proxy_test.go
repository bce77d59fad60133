package testkit_test

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// echo is a server that answers each line with itself, and tells heard of it.
func echo(t *testing.T) (address string, heard <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	lines := make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close() //nolint:errcheck // the end of a connection
				for in := bufio.NewScanner(conn); in.Scan(); {
					lines <- in.Text()
					_, _ = io.WriteString(conn, in.Text()+"\n") // its client may be gone
				}
			}()
		}
	}()
	return listener.Addr().String(), lines
}

// caller is a connection that asks line by line.
type caller struct {
	net.Conn
	in *bufio.Reader
}

func call(t *testing.T, address string) caller {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return caller{conn, bufio.NewReader(conn)}
}

func (c caller) ask(line string) (string, error) {
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		return "", err
	}
	return c.in.ReadString('\n')
}

func TestProxy(t *testing.T) {
	address, heard := echo(t)
	answers := func(t *testing.T, c caller) {
		t.Helper()
		reply, err := c.ask("hello")
		require.NoError(t, err)
		require.Equal(t, "hello\n", reply)
		require.Equal(t, "hello", <-heard)
	}

	t.Run("passes requests and replies on and counts connections", func(t *testing.T) {
		wire := testkit.Proxy(t, address)
		answers(t, call(t, wire.Address()))
		answers(t, call(t, wire.Address()))
		require.Equal(t, 2, wire.Opened())
		require.Zero(t, wire.Lost())
	})
	t.Run("cuts open connections and lets new ones through", func(t *testing.T) {
		wire := testkit.Proxy(t, address)
		c := call(t, wire.Address())
		answers(t, c)
		wire.Cut()
		_, err := c.in.ReadString('\n')
		require.Error(t, err)
		answers(t, call(t, wire.Address()))
	})
	t.Run("refuses new connections and leaves open ones alone", func(t *testing.T) {
		wire := testkit.Proxy(t, address)
		c := call(t, wire.Address())
		answers(t, c)
		wire.Refuse(true)
		_, err := call(t, wire.Address()).ask("hello")
		require.Error(t, err)
		answers(t, c)
		require.Equal(t, 1, wire.Opened())
		wire.Refuse(false)
		answers(t, call(t, wire.Address()))
	})
	t.Run("loses replies to requests that arrived", func(t *testing.T) {
		wire := testkit.Proxy(t, address)
		wire.LoseReplies(true)
		_, err := call(t, wire.Address()).ask("heard")
		require.Error(t, err)
		require.Equal(t, "heard", <-heard)
		require.Equal(t, 1, wire.Lost())
		wire.LoseReplies(false)
		answers(t, call(t, wire.Address()))
	})
	t.Run("loses the replies to one kind of request only", func(t *testing.T) {
		wire := testkit.Proxy(t, address)
		wire.LoseRepliesTo("COMMIT")
		c := call(t, wire.Address())
		answers(t, c)
		_, err := c.ask("COMMIT")
		require.Error(t, err)
		require.Equal(t, "COMMIT", <-heard)
		require.Equal(t, 1, wire.Lost())
	})
	t.Run("holds replies back", func(t *testing.T) {
		wire := testkit.Proxy(t, address)
		c := call(t, wire.Address())
		wire.Delay(time.Hour)
		_, err := io.WriteString(c, "held\n")
		require.NoError(t, err)
		require.Equal(t, "held", <-heard)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		_, err = c.in.ReadString('\n')
		var late net.Error
		require.ErrorAs(t, err, &late)
		require.True(t, late.Timeout())
		wire.Delay(0)
		answers(t, call(t, wire.Address()))
	})
}
