package probe_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/probe"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var ticket = sequence.Ticket{BizType: "ORDER", SeqNo: "A-000017", Life: 2}

func TestAskBySQL(t *testing.T) {
	dsn := testkit.MariaDB(t)
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // the database goes with the test
	_, err = db.ExecContext(t.Context(), "CREATE TABLE orders (number VARCHAR(64) PRIMARY KEY)")
	require.NoError(t, err)
	p, err := probe.New(map[string]string{"shop": dsn})
	require.NoError(t, err)
	defer p.Close() //nolint:errcheck // nothing is left to say
	how := sequence.Probe{DSN: "shop", Query: "SELECT 1 FROM orders WHERE number = ?", Timeout: 5 * time.Second}

	inUse, err := p.Ask(t.Context(), how, ticket)
	require.NoError(t, err)
	require.False(t, inUse)
	_, err = db.ExecContext(t.Context(), "INSERT INTO orders VALUES (?)", ticket.SeqNo)
	require.NoError(t, err)
	inUse, err = p.Ask(t.Context(), how, ticket)
	require.NoError(t, err)
	require.True(t, inUse)

	t.Run("changes nothing, whatever the query says", func(t *testing.T) {
		bad := how
		bad.Query = "DELETE FROM orders WHERE number = ?"
		_, err := p.Ask(t.Context(), bad, ticket)
		require.ErrorContains(t, err, "READ ONLY")
	})
	t.Run("gives each of many that ask at once its time", func(t *testing.T) {
		slow := how
		slow.Query, slow.Timeout = "SELECT SLEEP(0.05) FROM orders WHERE number = ?", time.Second
		var all sync.WaitGroup
		for range 120 { // a second and a half with four connections
			all.Go(func() {
				_, err := p.Ask(t.Context(), slow, ticket)
				require.NoError(t, err)
			})
		}
		all.Wait()
	})
	t.Run("without an answer it is an error, not a no", func(t *testing.T) {
		for name, how := range map[string]sequence.Probe{
			"LACUNA_PROBE_DSNS": {DSN: "elsewhere", Query: how.Query, Timeout: time.Second},
			"gone":              {DSN: "shop", Query: "SELECT 1 FROM gone WHERE number = ?", Timeout: time.Second},
			"exceeded":          {DSN: "shop", Query: "SELECT SLEEP(10) FROM orders WHERE number = ?", Timeout: 20 * time.Millisecond},
		} {
			_, err := p.Ask(t.Context(), how, ticket)
			require.ErrorContains(t, err, name)
		}
	})
}

func TestAskByHTTP(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		body   string
		inUse  bool
		fault  string
	}{
		"held":           {200, `{"inUse": true}`, true, ""},
		"not held":       {200, `{"inUse": false, "since": 7}`, false, ""},
		"an error":       {503, `{"inUse": false}`, false, "503"},
		"not found":      {404, ``, false, "404"},
		"a redirect":     {302, ``, false, "302"},
		"something else": {200, `{"in_use": false}`, false, "did not answer"},
		"no JSON":        {200, `<html>`, false, "did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				require.Equal(t, "ORDER~A-000017~2", r.URL.Query().Get("ticket"))
				require.Equal(t, "ORDER", r.URL.Query().Get("bizType"))
				require.Equal(t, "A-000017", r.URL.Query().Get("seqNo"))
				require.Equal(t, "1", r.URL.Query().Get("v"))
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			p, err := probe.New(nil)
			require.NoError(t, err)
			inUse, err := p.Ask(t.Context(), sequence.Probe{URL: server.URL + "/holds?v=1", Timeout: 5 * time.Second}, ticket)
			require.Equal(t, tt.inUse, inUse)
			if tt.fault == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.fault)
			}
		})
	}
	t.Run("nobody answers in time", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		defer server.Close()
		p, err := probe.New(nil)
		require.NoError(t, err)
		_, err = p.Ask(t.Context(), sequence.Probe{URL: server.URL, Timeout: 20 * time.Millisecond}, ticket)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestNewRefusesADSNWithoutTellingIt(t *testing.T) {
	_, err := probe.New(map[string]string{"shop": "user:secret@nowhere"})
	require.ErrorContains(t, err, "shop")
	require.NotContains(t, err.Error(), "secret")
}
