package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/internal/testkit/browser"
	"github.com/lacuna-seq/lacuna/sequence"
)

// What an attacker writes into a biz key or a reason.
const (
	script  = `<script>alert(1)</script>`
	breaker = `"><img src=x onerror=alert(2)>`
)

// take takes numbers of the biz type.
func (s *stack) take(t *testing.T, bizType, bizKey string, count int) (tickets []string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"bizType": bizType, "bizKey": bizKey, "count": count})
	require.NoError(t, err)
	var answer map[string]any
	testkit.Eventually(t, func() bool {
		var status int
		status, answer = s.call(t, "Next", string(body))
		return status == http.StatusOK
	}, "no %d numbers of %s", count, bizType) // a new biz type is asked for more than memory has
	for _, n := range answer["numbers"].([]any) {
		tickets = append(tickets, n.(map[string]any)["ticket"].(string))
	}
	return tickets
}

// settleAll confirms or abandons all of the tickets.
func (s *stack) settleAll(t *testing.T, action string, tickets []string) {
	t.Helper()
	commands := []map[string]string{}
	for _, ticket := range tickets {
		commands = append(commands, map[string]string{"ticket": ticket, "action": action})
	}
	body, err := json.Marshal(map[string]any{"commands": commands})
	require.NoError(t, err)
	status, answer := s.call(t, "Settle", string(body))
	require.Equal(t, http.StatusOK, status, "%v", answer)
}

// die makes dead letters of numbers that were given up, as a worker does.
func (s *stack) die(t *testing.T, cause sequence.DeadCause, reason string, tickets []string) {
	t.Helper()
	commands := make([]sequence.Command, len(tickets))
	for i, text := range tickets {
		ticket, err := sequence.ParseTicket(text)
		require.NoError(t, err)
		commands[i] = sequence.Command{Kind: sequence.Bury, Ticket: ticket, Cause: cause, Reason: reason}
	}
	decisions, err := s.ledger.Apply(t.Context(), commands)
	require.NoError(t, err)
	for i, d := range decisions {
		require.Equal(t, sequence.OutcomeDead, d.Outcome, tickets[i])
	}
}

// shop is a biz type that has lived: some 1,600 numbers in every state that lasts, some of them for an attacker.
func (s *stack) shop(t *testing.T) {
	t.Helper()
	s.put(t, `{"name":"SHOP","format":"S-{seq:6}","confirmTimeout":"3600s","safetyWindow":"3600s","track":"TRACK_UNSETTLED","trackAfter":"3600s"}`)
	numbers := append(s.take(t, "SHOP", "cart-1", 1_000), s.take(t, "SHOP", "cart-2", 572)...)
	s.settleAll(t, "ACTION_CONFIRM", numbers[:1_000])
	s.settleAll(t, "ACTION_CONFIRM", numbers[1_000:1_560])
	hostile := append(s.take(t, "SHOP", script, 2), s.take(t, "SHOP", breaker, 2)...)
	gone := append(s.take(t, "SHOP", "cart-3", 20), hostile...)
	s.settleAll(t, "ACTION_ABANDON", gone)
	s.die(t, sequence.CauseCancelled, sequence.ReasonCancelled, gone[10:17])
	s.die(t, sequence.CausePoolAway, "the pool is away: dial tcp: connection refused", gone[17:])
	_, answer := s.post(t, "OperatorService/WriteOffDeadLetters", `{"filter":{"tickets":["`+gone[10]+`"]},"reason":"printed by hand"}`)
	require.Equal(t, 1.0, answer["writtenOff"], "%v", answer)
}

// meet lets two holders of a number of DEMO meet.
func (s *stack) meet(t *testing.T) {
	t.Helper()
	first, seqNo := s.next(t, "DEMO")
	s.awaitState(t, "DEMO", seqNo, sequence.Replayable)
	var second string
	testkit.Eventually(t, func() bool {
		_, answer := s.call(t, "Next", `{"bizType":"DEMO","bizKey":"o-2"}`)
		n := answer["numbers"].([]any)[0].(map[string]any)
		second = n["ticket"].(string)
		return n["seqNo"] == seqNo
	}, "it is not issued again")
	require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", second))
	body, err := json.Marshal(map[string]string{"ticket": first, "bizKey": script})
	require.NoError(t, err)
	status, _ := s.call(t, "Confirm", string(body))
	require.Equal(t, http.StatusConflict, status)
}

// week writes down the delays of a week, as processes count them.
func (s *stack) week(t *testing.T, bizType string) {
	t.Helper()
	add := func(kind sequence.DelayKind, typical time.Duration, count int64) {
		middle := sequence.DelayBucket(typical)
		for away := -24; away <= 24; away++ {
			if n := count >> (abs(away) / 2); n > 0 {
				_, err := s.ledger.DB().ExecContext(t.Context(), `INSERT INTO t_seq_delay (biz_type, day, kind, bucket, count, first_time)
					VALUES (?, UTC_DATE() - INTERVAL 3 DAY, ?, ?, ?, UTC_TIMESTAMP(6) - INTERVAL 3 DAY)`, bizType, kind.String(), middle+away, n)
				require.NoError(t, err)
			}
		}
	}
	add(sequence.DelayConfirmed, 400*time.Millisecond, 300_000)
	add(sequence.DelayLate, 20*time.Second, 40)
	add(sequence.DelayAbandoned, 2*time.Second, 900)
}

func abs(n int) int { return max(n, -n) }

// The pages for those who look for gaps, as people see them, and every act of the desk by keyboard.
func TestConsoleDesk(t *testing.T) {
	s := newStack(t)
	reader := s.newToken(t, access.Token{Name: "reader", Role: access.RoleAuditor}) // known by the time that it is needed
	s.shop(t)
	s.meet(t)
	s.put(t, `{"name":"INVOICE","format":"INV{yyyy}{MM}-{seq:6}"}`)
	s.take(t, "INVOICE", "bill-1", 3)
	s.week(t, "SHOP")
	tab := s.signIn(t, s.token)
	for name, path := range map[string]string{
		"map-types": "/map", "map": "/map/SHOP", "map-single": "/map/SHOP?from=1501&to=1600", "map-period": "/map/INVOICE",
		"dead": "/dead", "conflicts": "/conflicts", "window-types": "/window", "window": "/window/SHOP", "window-little": "/window/DEMO",
	} {
		t.Run(name, func(t *testing.T) { tab.Inspect(name, s.starter.url+path, http.StatusOK) })
	}
	for name, path := range map[string]string{
		"a range that ends before it begins": "/map/SHOP?from=9&to=3", "a value that is none": "/map/SHOP?from=x", "a cause that there is not": "/dead?cause=X",
		"a time that is none": "/conflicts?since=x", "too many days": "/window/SHOP?days=99",
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			require.Equal(t, http.StatusBadRequest, tab.Go(s.starter.url+path))
			require.Contains(t, tab.Text("h1"), "That is not possible")
		})
	}
	tab.See(1440, "light")
	t.Run("the map", func(t *testing.T) { s.mapByKeyboard(t, tab) })
	t.Run("what an attacker wrote is text", func(t *testing.T) {
		tab.Go(s.starter.url + "/map/SHOP?from=1501&to=1600")
		require.False(t, tab.Has("#live script, #live img"))
		tab.Go(s.starter.url + "/dead")
		require.Contains(t, tab.Text(".letters"), script)
		require.Contains(t, tab.Text(".letters"), breaker)
		tab.Go(s.starter.url + "/conflicts")
		require.Contains(t, tab.Text(".conflicts"), script)
		require.Empty(t, tab.Dialogs())
		require.Empty(t, tab.Complaints())
	})
	t.Run("forms of others are refused", func(t *testing.T) { s.forms(t, reader) })
	t.Run("the desk", func(t *testing.T) { s.deskByKeyboard(t, tab) })
}

// valueIn is the lowest value of SHOP in a state.
func (s *stack) valueIn(t *testing.T, state sequence.State) (value int64) {
	t.Helper()
	require.NoError(t, s.ledger.DB().QueryRowContext(t.Context(), "SELECT MIN(value) FROM t_seq_issue_log WHERE biz_type = 'SHOP' AND status = ?", state).Scan(&value))
	return value
}

func (s *stack) mapByKeyboard(t *testing.T, tab *browser.Tab) {
	tab.Go(s.starter.url + "/map/SHOP")
	require.Contains(t, tab.Text("#live"), "a cell for each 100")
	tab.TabTo("#c1")
	tab.Key(kb.ArrowRight)
	require.True(t, tab.Has("#c101:focus"))
	tab.Key(kb.End + kb.Home + kb.ArrowDown + kb.ArrowUp + kb.ArrowRight)
	require.True(t, tab.Has("#c101:focus"), "the arrows lead back")
	tab.Key(kb.Enter)
	tab.Await("#live", "101 to 200, a cell for each number")
	require.Equal(t, "/map/SHOP?from=101&to=200", tab.Address())
	tab.TabTo("#right")
	tab.Key(kb.Enter)
	tab.Await("#live", "201 to 300")
	tab.TabTo("#out")
	tab.Key(kb.Enter)
	tab.Await("#live", "1 to 1,000, a cell for each 10")

	dead, held := s.valueIn(t, sequence.Dead), s.valueIn(t, sequence.Allocated)
	seqNo := func(value int64) string { return fmt.Sprintf("S-%06d", value) }
	tab.TabTo("#at")
	tab.Key(seqNo(dead) + kb.Enter)
	tab.Await("#live", "1,501 to 1,600")
	cell := func(value int64) string { return fmt.Sprintf("#c%d", value) }
	require.Contains(t, tab.Text(cell(dead)), seqNo(dead)+": DEAD")

	// It moves live, and keeps the focus.
	tab.TabTo(cell(dead))
	tab.Await(cell(held), seqNo(held)+": ALLOCATED")
	s.settleAll(t, "ACTION_CONFIRM", []string{"SHOP~" + seqNo(held) + "~1"})
	tab.Await(cell(held), seqNo(held)+": CONFIRMED")
	require.True(t, tab.Has(cell(dead)+":focus"))
	require.Empty(t, tab.Complaints())
}

// forms sends forms of the desk as another site, and another session, would.
func (s *stack) forms(t *testing.T, reader string) {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	person := &http.Client{Jar: jar}
	send := func(path string, header http.Header, form url.Values) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.starter.url+path, strings.NewReader(form.Encode()))
		require.NoError(t, err)
		if header != nil {
			request.Header = header
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := person.Do(request)
		require.NoError(t, err)
		defer response.Body.Close() //nolint:errcheck // it was read
		return response.StatusCode, textOf(t, response)
	}
	page := func(path string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.starter.url+path, nil)
		require.NoError(t, err)
		response, err := person.Do(request)
		require.NoError(t, err)
		defer response.Body.Close() //nolint:errcheck // it was read
		return textOf(t, response)
	}
	dead := s.count(t, "status = 6")
	act := func(token string) url.Values {
		return url.Values{"act": {"write-off"}, "bizType": {"SHOP"}, "count": {"9"}, "left": {"9"}, "reason": {"forged"}, "form_token": {token}}
	}
	send("/sign-in", nil, url.Values{"token": {s.token}})
	own := regexp.MustCompile(`name="form_token" value="([^"]+)"`).FindStringSubmatch(page("/dead"))
	require.Len(t, own, 2)
	for name, tt := range map[string]struct {
		header http.Header
		token  string
	}{
		"of another site":       {http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}, own[1]},
		"without a token":       {nil, ""},
		"of a session not ours": {nil, strings.Repeat("a", len(own[1]))},
	} {
		for _, path := range []string{"/dead/ask", "/dead/act"} {
			status, _ := send(path, tt.header, act(tt.token))
			require.Equal(t, http.StatusForbidden, status, "%s: %s", name, path)
		}
	}
	for field, value := range map[string]string{"act": "drop", "rate": "0", "left": "-1", "cause": "X"} {
		form := act(own[1])
		form.Set(field, value)
		status, text := send("/dead/act", nil, form)
		require.Equal(t, http.StatusBadRequest, status, "%s: %s", field, text)
	}
	status, text := send("/dead/ask", nil, url.Values{"act": {"requeue"}, "form_token": {own[1]}})
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "Nothing is chosen")

	// Whoever may only read sees the letters, and no form; and the API refuses what is sent all the same.
	send("/sign-in", nil, url.Values{"token": {reader}})
	text = page("/dead")
	require.Contains(t, text, "<b>reader</b>")
	require.NotContains(t, text, "Write off")
	own = regexp.MustCompile(`name="form_token" value="([^"]+)"`).FindStringSubmatch(text)
	status, _ = send("/dead/act", nil, act(own[1]))
	require.Equal(t, http.StatusForbidden, status)
	require.Equal(t, dead, s.count(t, "status = 6"), "nothing was done")
}

func (s *stack) deskByKeyboard(t *testing.T, tab *browser.Tab) {
	dead := s.count(t, "status = 6")
	desk := s.starter.url + "/dead?bizType=SHOP"

	// One is written off. A reason is asked for.
	tab.Go(desk)
	tab.TabTo("tbody input[name=ticket]")
	tab.Key(" ")
	tab.TabTo("button[value=write-off]")
	tab.Key(kb.Enter)
	tab.Await("h1", "Write off 1 number?")
	tab.InspectThis("dead-write-off")
	tab.TabTo("#reason")
	tab.Key(" " + kb.Enter)
	tab.Await("#fault", "Say why")
	tab.TabTo("#reason")
	tab.Key(script + kb.Enter)
	tab.Await("h1", "1 of 1 written off")
	require.Equal(t, dead-1, s.count(t, "status = 6"))
	var by, seqNo string
	require.NoError(t, s.ledger.DB().QueryRowContext(t.Context(), `SELECT handled_by, seq_no FROM t_seq_issue_dead WHERE resolution = 'WRITTEN_OFF' ORDER BY handled_time DESC LIMIT 1`).Scan(&by, &seqNo))
	require.Equal(t, storyteller, by, "the token's name is who did it")
	require.Equal(t, script, s.row(t, "SHOP", seqNo).Reason)

	// All others are sent back, in parts that show how far it is.
	tab.Go(desk)
	tab.TabTo("input[value=chosen]")
	tab.Key(kb.ArrowDown)
	tab.TabTo("button[value=requeue]")
	tab.Key(kb.Enter)
	tab.Await("h1", fmt.Sprintf("Send %d numbers back?", dead-1))
	tab.Await(".notice", "at 200/s that takes")
	tab.InspectThis("dead-requeue")
	tab.TabTo("#rate")
	tab.Key(kb.Backspace + kb.Backspace + kb.Backspace + "4")
	tab.TabTo("#reason")
	tab.Key("the printer is back" + kb.Enter)
	tab.Await("h1", fmt.Sprintf("%d of %d sent back", dead-1, dead-1))
	require.Contains(t, tab.Text("#live"), "Done.")
	tab.InspectThis("dead-done")
	require.Zero(t, s.count(t, "status = 6"))
	tab.Go(desk)
	tab.Await(".notice", "Nothing waits for a person")
	require.Empty(t, tab.Dialogs())
	require.Empty(t, tab.Complaints())
}

func textOf(t *testing.T, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text)
}
