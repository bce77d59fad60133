package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/internal/testkit/browser"
	"github.com/lacuna-seq/lacuna/sequence"
)

// send posts a form with a browser's cookie, as whoever has stolen it would.
func (s *stack) send(t *testing.T, cookie, path string, form url.Values, header ...string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.starter.url+path, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Cookie", "lacuna-session="+cookie)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// What somebody would try who wants more of the console than is theirs.
func TestConsoleUnderAttack(t *testing.T) {
	s := newStack(t)
	s.bizType(t, "CLAIM", "C-{seq:6}", 15*time.Minute, 2*time.Minute) // each number is in its first life
	tab := s.signIn(t, s.token)
	cookie := tab.Cookies()["lacuna-session"]
	require.NotEmpty(t, cookie)
	untouched := func(t *testing.T, n sequence.Ticket) {
		t.Helper()
		require.Equal(t, sequence.Allocated, s.row(t, n.BizType, n.SeqNo).State, "nothing was done")
	}

	t.Run("scripts in a biz key and a reason are text", func(t *testing.T) {
		for _, attack := range []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(2)>`, `' autofocus onfocus=alert(3) x='`, `javascript:alert(4)`, `{{7*7}}</title><svg onload=alert(5)>`} {
			n := s.nextFor(t, "CLAIM", attack)
			s.nextFor(t, "CLAIM", attack) // so that a search lists them
			tab.Go(s.numberPage(n) + "/abandon")
			tab.Type("#reason", attack)
			tab.Click("form.form button")
			tab.Await("main", "It is abandoned.")
			for _, address := range []string{s.numberPage(n), s.numberPage(n) + "/confirm", s.starter.url + "/search?q=" + url.QueryEscape(attack), s.starter.url + "/sign-in?next=" + url.QueryEscape(attack)} {
				tab.Go(address)
				if !strings.Contains(address, "/sign-in") && !strings.HasSuffix(address, "/confirm") {
					require.Contains(t, tab.Text("main"), attack, address)
				}
				require.False(t, tab.Has("main script, main img, [onerror], [onfocus], [onload]"), address)
			}
			events, err := s.ledger.Events(t.Context(), n.BizType, n.SeqNo)
			require.NoError(t, err)
			require.Equal(t, attack, events[0].Reason, "kept as it was written")
		}
		require.Empty(t, tab.Dialogs())
		require.Empty(t, tab.Complaints(), "nothing even tried")
	})
	t.Run("a page of another origin cannot send a form", func(t *testing.T) {
		n := s.nextFor(t, "CLAIM", "held")
		// It is on the same host, so the browser sends the cookie along.
		evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<form method="post" action="%s/abandon"><input name="life" value="1"><input name="reason" value="x"><button>Win</button></form>`, s.numberPage(n))
		}))
		defer evil.Close()
		require.Equal(t, http.StatusOK, tab.Go(evil.URL))
		tab.Click("button")
		tab.Await("body", "sent by a page of another site")
		untouched(t, n)
	})
	t.Run("a form without the session's token is refused", func(t *testing.T) {
		n := s.nextFor(t, "CLAIM", "held")
		for _, token := range []string{"", "x", access.NewSessionID().FormToken(), cookie} {
			form := url.Values{"life": {"1"}, "reason": {"x"}, "form_token": {token}}
			require.Equal(t, http.StatusForbidden, s.send(t, cookie, "/numbers/CLAIM/"+n.SeqNo+"/abandon", form))
		}
		own := url.Values{"life": {"1"}, "reason": {"x"}, "form_token": {access.SessionID(cookie).FormToken()}}
		require.Equal(t, http.StatusForbidden, s.send(t, cookie, "/numbers/CLAIM/"+n.SeqNo+"/abandon", own, "Sec-Fetch-Site", "cross-site"))
		untouched(t, n)
		require.Equal(t, http.StatusSeeOther, s.send(t, cookie, "/numbers/CLAIM/"+n.SeqNo+"/abandon", own))
		s.awaitState(t, n.BizType, n.SeqNo, sequence.Abandoned)
	})
	t.Run("a token of another biz type sees nothing foreign", func(t *testing.T) {
		foreign := s.nextFor(t, "CLAIM", "foreign-key")
		own := s.nextFor(t, "DEMO", "own-key")
		shop := s.signIn(t, s.known(t, access.Token{Name: "shop", Role: access.RoleCaller, BizTypes: []string{"DEMO"}}))
		for path, status := range map[string]int{
			"/numbers/CLAIM/" + foreign.SeqNo: http.StatusForbidden, "/numbers/CLAIM/" + foreign.SeqNo + "/confirm": http.StatusForbidden,
			"/types/CLAIM": http.StatusForbidden, "/types": http.StatusForbidden, "/": http.StatusForbidden, "/search?q=foreign-key": http.StatusOK,
			"/search?q=" + foreign.SeqNo: http.StatusOK, "/numbers/DEMO/" + own.SeqNo: http.StatusOK, "/types/DEMO": http.StatusOK,
		} {
			require.Equal(t, status, shop.Go(s.starter.url+path), path)
			require.NotContains(t, shop.Text("main"), "/numbers/CLAIM", path)
			require.False(t, shop.Has(`main a[href^="/numbers/CLAIM"]`), path)
		}
		shop.Inspect("denied-to-a-caller", s.starter.url+"/", http.StatusForbidden)
		mine := shop.Cookies()["lacuna-session"]
		form := url.Values{"life": {"1"}, "reason": {"x"}, "form_token": {access.SessionID(mine).FormToken()}}
		require.Equal(t, http.StatusForbidden, s.send(t, mine, "/numbers/CLAIM/"+foreign.SeqNo+"/abandon", form))
		untouched(t, foreign)
	})
	t.Run("a session cannot be planted, and ends with its token", func(t *testing.T) {
		text := s.known(t, access.Token{Name: "mia", Role: access.RoleOperator})
		planted := access.NewSessionID()
		require.Equal(t, http.StatusSeeOther, s.send(t, string(planted), "/sign-in", url.Values{"token": {text}}))
		_, err := s.ledger.SessionToken(t.Context(), planted.Hash())
		require.ErrorIs(t, err, sequence.ErrNotFound)
		mia := s.signIn(t, text)
		first := mia.Cookies()["lacuna-session"]
		mia.Go(s.starter.url + "/sign-in")
		mia.Type("#token", text)
		mia.Click("main form button")
		mia.Await("h1", "Overview")
		require.NotEqual(t, first, mia.Cookies()["lacuna-session"])
		_, err = s.ledger.SessionToken(t.Context(), access.SessionID(first).Hash())
		require.ErrorIs(t, err, sequence.ErrNotFound, "the one before is over")

		out, code := s.lacuna(t, "token", "revoke", "mia", "--yes")
		require.Zero(t, code, "%s", out)
		mia.Await("h1", "Sign in") // the overview asks by itself, and is sent away
	})
	t.Run("who has signed out is out, everywhere", func(t *testing.T) {
		require.Equal(t, http.StatusOK, tab.Go(s.starter.url+"/types"))
		tab.Click(".who button")
		tab.Await("h1", "Sign in")
		own := url.Values{"life": {"1"}, "reason": {"x"}, "form_token": {access.SessionID(cookie).FormToken()}}
		n := s.nextFor(t, "CLAIM", "held")
		require.Equal(t, http.StatusSeeOther, s.send(t, cookie, "/numbers/CLAIM/"+n.SeqNo+"/abandon", own), "to the sign-in")
		untouched(t, n)
	})
}

// A session is one of all starters, and its pages say what is away.
func TestConsoleBehindABalancerAndWithoutTheLedger(t *testing.T) {
	mariadb := testkit.OwnMariaDB(t)
	s := newStackOnBoth(t, mariadb.DSN("lacuna"), testkit.Redis(t))
	tab := s.signIn(t, s.token)
	second := s.program(t, "starter")
	s.ready(t, second)
	require.Equal(t, http.StatusOK, tab.Go(second.url+"/")) // cookies are the host's, not the port's
	require.Equal(t, "Overview", tab.Text("h1"))
	tab.Click(".who button")
	tab.Await("h1", "Sign in")
	tab.Go(s.starter.url + "/")
	require.Equal(t, "Sign in", tab.Text("h1"), "and so is its end")

	tab = s.signIn(t, s.token)
	other := s.signIn(t, s.token)
	mariadb.Kill()
	tab.Await("#live", "What still works") // the overview asks by itself
	other.Inspect("away", s.starter.url+"/types", http.StatusServiceUnavailable)
	require.NoError(t, mariadb.Restart(t.Context()))
	tab.Await("#live", "The patrol")
	other.Click("#again")
	other.Await("h1", "Biz types")
}

// Where access is open nobody signs in, and that is said.
func TestConsoleWhereAccessIsOpen(t *testing.T) {
	s := newStack(t, "LACUNA_ACCESS=open")
	tab := browser.Open(t)
	tab.Inspect("open", s.starter.url+"/", http.StatusOK)
	require.Contains(t, tab.Text(".banner"), "Access is open.")
	n := s.nextFor(t, "DEMO", "x")
	require.Equal(t, http.StatusForbidden, s.send(t, "", "/numbers/DEMO/"+n.SeqNo+"/abandon", url.Values{"life": {"1"}, "reason": {"x"}}, "Origin", "https://evil.example"))
	require.Equal(t, sequence.Allocated, s.row(t, n.BizType, n.SeqNo).State)
}
