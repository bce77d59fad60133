package alert_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/alert"
	"github.com/lacuna-seq/lacuna/internal/runlink"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// desk is a ledger with numbers that can die, and where their alerts arrive.
type desk struct {
	*ledger.Ledger
	numbers []sequence.Number
	alerts  chan alert.Alert
	refuse  bool
}

func newDesk(t *testing.T, count int) *desk {
	t.Helper()
	l, err := ledger.Open(testkit.MariaDB(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	_, err = migrations.Up(t.Context(), l.DB())
	require.NoError(t, err)
	format, err := sequence.ParseFormat("A-{seq:6}")
	require.NoError(t, err)
	require.NoError(t, l.CreateBizType(t.Context(), sequence.NewBizType("ORDER", format)))
	require.NoError(t, l.RegisterIssuer(t.Context(), "issuer-1", "host", time.Hour))
	d := &desk{Ledger: l, alerts: make(chan alert.Alert, 100)}
	held, err := l.Allocate(t.Context(), "ORDER", "issuer-1", "seg-1", count)
	require.NoError(t, err)
	d.apply(t, held, sequence.Command{Kind: sequence.Record, Owner: "issuer-1", BatchID: "seg-1"}, 1)
	d.apply(t, d.numbers, sequence.Command{Kind: sequence.Abandon}, 0)
	return d
}

func (d *desk) apply(t *testing.T, numbers []sequence.Number, like sequence.Command, ahead int32) {
	t.Helper()
	commands := make([]sequence.Command, len(numbers))
	for i, n := range numbers {
		commands[i] = like
		commands[i].Ticket = sequence.Ticket{BizType: n.BizType, SeqNo: n.SeqNo, Life: n.Life + ahead}
	}
	decisions, err := d.Apply(t.Context(), commands)
	require.NoError(t, err)
	d.numbers = d.numbers[:0]
	for _, decided := range decisions {
		d.numbers = append(d.numbers, decided.Number)
	}
}

func (d *desk) bury(t *testing.T) {
	t.Helper()
	d.apply(t, d.numbers, sequence.Command{Kind: sequence.Bury, Cause: sequence.CausePoolAway, Reason: "connection refused"}, 0)
}

// age makes what nobody was told of old enough to be told.
func (d *desk) age(t *testing.T) {
	t.Helper()
	_, err := d.DB().ExecContext(t.Context(), "UPDATE t_seq_issue_dead SET dead_time = dead_time - INTERVAL 1 MINUTE WHERE alerted_time IS NULL")
	require.NoError(t, err)
}

// Send is the channel.
func (d *desk) Send(_ context.Context, a alert.Alert) error {
	d.alerts <- a
	if d.refuse {
		return errors.New("the desk is closed")
	}
	return nil
}

// watch runs so many processes that alert.
func (d *desk) watch(t *testing.T, processes int) {
	t.Helper()
	for range processes {
		s, err := alert.NewSender(d, d, runlink.Maker{UI: "http://ui", Namespace: "default"}, slog.New(slog.DiscardHandler), noop.Meter{})
		require.NoError(t, err)
		go s.Run(t.Context())
	}
}

func (d *desk) untold(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, d.DB().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t_seq_issue_dead WHERE alerted_time IS NULL").Scan(&n))
	return n
}

func TestAStormIsOneAlert(t *testing.T) {
	d := newDesk(t, 300)
	d.bury(t)
	d.watch(t, 3)
	a := <-d.alerts
	require.Equal(t, ledger.AlertDeadLetter, a.Kind)
	require.Equal(t, int64(300), a.Count)
	require.Len(t, a.Numbers, 5)
	require.Equal(t, "ORDER", a.Numbers[0].BizType)
	require.Equal(t, "A-000001", a.Numbers[0].SeqNo)
	require.Equal(t, "seg-1", a.Numbers[0].BatchID)
	require.Equal(t, "ORDER~A-000001~1", a.Numbers[0].Ticket)
	require.Equal(t, "POOL_AWAY", a.Numbers[0].Cause)
	require.Equal(t, "connection refused", a.Numbers[0].Reason)
	require.Equal(t, "http://ui/namespaces/default/workflows/ORDER~A-000001~1", a.Numbers[0].RunURL)
	testkit.Eventually(t, func() bool { return d.untold(t) == 0 }, "they do not count as told")

	// What dies within the minute is told after it, by one of the processes.
	d.apply(t, d.numbers[:10], sequence.Command{Kind: sequence.Requeue, Actor: "mia", Reason: "again"}, 0)
	d.bury(t)
	d.age(t)
	untold, err := d.Untold(t.Context(), 5)
	require.NoError(t, err)
	require.Empty(t, untold, "not before a minute is over")
	_, err = d.DB().ExecContext(t.Context(), "UPDATE t_seq_alert SET next_time = next_time - INTERVAL 1 MINUTE")
	require.NoError(t, err)
	require.Equal(t, int64(10), (<-d.alerts).Count)
	testkit.Eventually(t, func() bool { return d.untold(t) == 0 }, "they do not count as told")
	require.Empty(t, d.alerts)
}

func TestAConflictNamesBothHolders(t *testing.T) {
	d := newDesk(t, 1)
	d.apply(t, d.numbers, sequence.Command{Kind: sequence.Confirm, BizKey: "o-1"}, 0)
	d.apply(t, d.numbers, sequence.Command{Kind: sequence.Confirm, BizKey: "o-2"}, 0)
	d.apply(t, d.numbers, sequence.Command{Kind: sequence.Confirm, BizKey: "o-2"}, 0)
	d.watch(t, 2)
	a := <-d.alerts
	require.Equal(t, ledger.AlertConflict, a.Kind)
	require.Equal(t, int64(1), a.Count, "once, however often it is repeated")
	require.Equal(t, "ORDER~A-000001~1", a.Numbers[0].Ticket)
	require.Equal(t, "o-2", a.Numbers[0].BizKey)
	require.Equal(t, "seg-1", a.Numbers[0].BatchID)
	require.Equal(t, "held by ORDER~A-000001~1 for o-1", a.Numbers[0].Reason)
}

func TestAbandonmentsOverABudgetAreToldByToken(t *testing.T) {
	d := newDesk(t, 1)
	require.NoError(t, d.AddExcess(t.Context(), []access.Excess{
		{Token: "shop", Budget: 600, Abandoned: 700}, {Token: "till", Budget: 60, Abandoned: 61}, {Token: "shop", Budget: 600, Abandoned: 50},
	}))
	_, err := d.DB().ExecContext(t.Context(), "UPDATE t_seq_token_excess SET excess_time = excess_time - INTERVAL 1 MINUTE")
	require.NoError(t, err)
	d.watch(t, 2)
	told := map[string]alert.Alert{}
	for range 2 {
		a := <-d.alerts
		told[a.Token] = a
	}
	require.Equal(t, alert.Alert{Kind: ledger.AlertAbandonBudget, Token: "shop", Count: 750, Reason: "its budget is 600 a minute"}, told["shop"])
	require.Equal(t, int64(61), told["till"].Count)
	require.Equal(t, "Lacuna: the holder of token till abandons more numbers than it is meant to: 61; its budget is 60 a minute", told["till"].Text())
	left := func() (n int) {
		require.NoError(t, d.DB().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t_seq_token_excess WHERE alerted_time IS NULL").Scan(&n))
		return n
	}
	testkit.Eventually(t, func() bool { return left() == 0 }, "they do not count as told")
}

func TestAnAlertThatCannotBeSentIsSentLater(t *testing.T) {
	d := newDesk(t, 3)
	d.bury(t)
	d.refuse = true
	d.watch(t, 1)
	<-d.alerts
	require.Equal(t, 3, d.untold(t))
	waits := func() (n int) {
		require.NoError(t, d.DB().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t_seq_alert WHERE next_time BETWEEN UTC_TIMESTAMP(6) AND UTC_TIMESTAMP(6) + INTERVAL 11 SECOND").Scan(&n))
		return n
	}
	testkit.Eventually(t, func() bool { return waits() == 1 }, "it is not put off")
	_, err := d.DB().ExecContext(t.Context(), "UPDATE t_seq_alert SET next_time = next_time - INTERVAL 1 MINUTE")
	require.NoError(t, err)
	require.Equal(t, int64(3), (<-d.alerts).Count)
}

func TestWebhooks(t *testing.T) {
	a := alert.Alert{Kind: ledger.AlertDeadLetter, BizType: "ORDER", Count: 7, Numbers: []alert.Number{{
		BizType: "ORDER", SeqNo: "A-000001", BatchID: "seg-1", Ticket: "ORDER~A-000001~1", Cause: "POOL_AWAY", Reason: "connection refused", RunURL: "http://ui/run",
	}}}
	var status int
	var answer string
	var got map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "application/json", r.Header.Get("Content-Type"))
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		got = map[string]any{}
		require.NoError(t, json.Unmarshal(body, &got))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	send := func(format alert.Format, s int, says string) error {
		status, answer = s, says
		return alert.Webhook{URL: server.URL + "/secret", Format: format}.Send(t.Context(), a)
	}
	text := func(of any) {
		for _, part := range []string{"dead letters of ORDER that need a person: 7", "biz_type ORDER, seq_no A-000001, batch_id seg-1, ticket ORDER~A-000001~1", "POOL_AWAY: connection refused", "http://ui/run", "and 6 more"} {
			require.Contains(t, of, part)
		}
	}
	require.NoError(t, send(alert.FormatJSON, 204, ""))
	require.Equal(t, "DEAD_LETTER", got["kind"])
	require.Equal(t, map[string]any{"biz_type": "ORDER", "seq_no": "A-000001", "batch_id": "seg-1", "ticket": "ORDER~A-000001~1",
		"cause": "POOL_AWAY", "reason": "connection refused", "run_url": "http://ui/run", "time": "0001-01-01T00:00:00Z"}, got["numbers"].([]any)[0])
	require.NoError(t, send(alert.FormatSlack, 200, "ok"))
	text(got["text"])
	require.NoError(t, send(alert.FormatFeishu, 200, `{"code":0,"msg":"success"}`))
	require.Equal(t, "text", got["msg_type"])
	text(got["content"].(map[string]any)["text"])
	require.NoError(t, send(alert.FormatDingTalk, 200, `{"errcode":0,"errmsg":"ok"}`))
	require.Equal(t, "text", got["msgtype"])
	text(got["text"].(map[string]any)["content"])

	require.ErrorContains(t, send(alert.FormatJSON, 500, "no"), "500")
	require.ErrorContains(t, send(alert.FormatFeishu, 200, `{"code":19001,"msg":"token invalid"}`), "token invalid")
	require.ErrorContains(t, send(alert.FormatDingTalk, 200, `{"errcode":310000}`), "310000")
	server.Close()
	err := send(alert.FormatJSON, 200, "")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}
