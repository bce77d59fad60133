package console_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/console"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestNobodyIsShownAnythingBeforeTheSignIn(t *testing.T) {
	s := newFake().open(t)
	for _, path := range []string{"/", "/search?q=x", "/types", "/types/ORDER", "/types/new", "/numbers/ORDER/A-1", "/numbers/ORDER/A-1/confirm", "/nonsense"} {
		a := s.get(t, path)
		require.Equal(t, http.StatusSeeOther, a.status, path)
		require.Equal(t, "/sign-in?next="+url.QueryEscape(path), a.header.Get("Location"))
	}
	a := s.do(t, http.MethodPost, "/numbers/ORDER/A-1/confirm", nil, url.Values{"reason": {"x"}, "life": {"1"}})
	require.Equal(t, http.StatusSeeOther, a.status)
	require.Equal(t, http.StatusNotFound, s.do(t, http.MethodPost, "/lacuna.v1.SequnceService/Next", nil, nil).status, "a misspelt call is not sent to a form")
	require.Empty(t, s.asked, "the API is not even asked")
	polled := s.do(t, http.MethodGet, "/", http.Header{"Hx-Request": {"true"}}, nil)
	require.Equal(t, http.StatusUnauthorized, polled.status)
	require.Equal(t, "/sign-in", polled.header.Get("HX-Redirect"))
}

func TestASessionIsOfItsTokenAndEndsWithIt(t *testing.T) {
	s := newFake().open(t)
	a := s.signIn(t, "mia")
	require.Equal(t, "/", a.header.Get("Location"))
	first := s.session(t)
	cookie := a.header.Get("Set-Cookie")
	for _, part := range []string{"lacuna-session=" + string(first), "Path=/", "Max-Age=43200", "HttpOnly", "SameSite=Strict"} {
		require.Contains(t, cookie, part)
	}
	require.Equal(t, http.StatusOK, s.get(t, "/").status)
	require.Equal(t, []string{"mia"}, s.asked, "in her name")

	s.signIn(t, "mia")
	require.NotEqual(t, first, s.session(t), "a sign-in makes another id")
	require.NotContains(t, s.sessions, first.Hash(), "and ends the session before")
	require.Len(t, s.sessions, 1)

	delete(s.holders, "mia")
	require.Equal(t, http.StatusSeeOther, s.get(t, "/").status, "the token was revoked")
}

// Somebody who could set a cookie before the sign-in must not know the session after it.
func TestAnIDThatWasSetByOthersIsNotUsed(t *testing.T) {
	s := newFake().open(t)
	planted := access.NewSessionID()
	a := s.do(t, http.MethodPost, "/sign-in", http.Header{"Cookie": {"lacuna-session=" + string(planted)}}, url.Values{"token": {"mia"}})
	require.Equal(t, http.StatusSeeOther, a.status)
	require.NotContains(t, s.sessions, planted.Hash())
	require.NotEqual(t, planted, s.session(t))
}

func TestTheCookieKeepsToTLSWhereThereIsTLS(t *testing.T) {
	s := newFake().open(t)
	a := s.do(t, http.MethodPost, "/sign-in", http.Header{"X-Forwarded-Proto": {"https"}}, url.Values{"token": {"mia"}})
	cookie := a.header.Get("Set-Cookie")
	require.True(t, strings.HasPrefix(cookie, "__Host-lacuna-session="), cookie)
	require.Contains(t, cookie, "; Secure")
}

func TestSigningOutEndsTheSession(t *testing.T) {
	s := newFake().open(t)
	s.signIn(t, "mia")
	id := s.session(t)
	require.Equal(t, http.StatusForbidden, s.do(t, http.MethodPost, "/sign-out", nil, nil).status, "not by another's form")
	a := s.send(t, "/sign-out", url.Values{})
	require.Equal(t, "/sign-in", a.header.Get("Location"))
	require.Empty(t, s.sessions)
	again := s.do(t, http.MethodGet, "/", http.Header{"Cookie": {"lacuna-session=" + string(id)}}, nil)
	require.Equal(t, http.StatusSeeOther, again.status, "who kept the cookie is out")
}

func TestATokenIsWrittenNowhere(t *testing.T) {
	s := newFake().open(t)
	s.token("lacuna_mia_secret", access.RoleAdmin)
	s.holders["lacuna_mia_secret"].Name = "mia"
	for _, text := range []string{"lacuna_mia_secret", "lacuna_mia_guessed"} {
		a := s.do(t, http.MethodPost, "/sign-in", nil, url.Values{"token": {text}})
		require.NotContains(t, a.page, text)
		require.NotContains(t, a.header.Get("Set-Cookie"), text)
	}
	id := s.session(t)
	page := s.get(t, "/").page
	require.NotContains(t, page, "secret")
	require.NotContains(t, page, string(id), "nor the id")
	require.NotContains(t, s.log.String(), "lacuna_mia")
	require.NotContains(t, s.log.String(), string(id))
}

func TestTheSignInLeadsBackAndNowhereElse(t *testing.T) {
	s := newFake().open(t)
	for next, to := range map[string]string{
		"": "/", "/types": "/types", "/search?q=a%20b": "/search?q=a%20b", "https://evil.example/": "/", "//evil.example": "/", `/\evil.example`: "/",
		"javascript:alert(1)": "/", "types": "/", "/sign-in": "/", "/x\r\nSet-Cookie: a=b": "/", "///evil.example": "/", "http:/evil": "/",
	} {
		a := s.do(t, http.MethodPost, "/sign-in", nil, url.Values{"token": {"mia"}, "next": {next}})
		require.Equal(t, to, a.header.Get("Location"), next)
	}
}

func TestFailedSignInsAreBound(t *testing.T) {
	s := newFake().open(t)
	for range 10 {
		a := s.do(t, http.MethodPost, "/sign-in", nil, url.Values{"token": {"guess"}})
		require.Equal(t, http.StatusUnauthorized, a.status)
		require.Contains(t, a.page, "That is no valid token")
	}
	a := s.do(t, http.MethodPost, "/sign-in", nil, url.Values{"token": {"guess"}})
	require.Equal(t, http.StatusTooManyRequests, a.status)
	require.Contains(t, a.page, "wait a minute")
	s.signIn(t, "mia") // behind a proxy all have one address: nobody is locked out by somebody else's tries
	other := newFake().open(t)
	for range 30 {
		other.signIn(t, "mia") // those that succeed are not counted
	}
}

// A browser keeps the cookie back when somebody comes from another site, e.g. from a chat. It is sent once more from here.
func TestALinkOnAnotherSiteLeadsHere(t *testing.T) {
	s := newFake().open(t)
	a := s.do(t, http.MethodGet, "/types?x=1", http.Header{"Sec-Fetch-Site": {"cross-site"}}, nil)
	require.Equal(t, http.StatusOK, a.status)
	require.Contains(t, a.page, `<meta http-equiv="refresh" content="0;url=/types?x=1">`)
}

func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	s := newFake().open(t)
	s.signIn(t, "mia")
	own, other := s.session(t).FormToken(), access.NewSessionID().FormToken()
	for why, header := range map[string]http.Header{
		"a foreign site":   {"Sec-Fetch-Site": {"cross-site"}},
		"another port":     {"Sec-Fetch-Site": {"same-site"}},
		"a foreign origin": {"Origin": {"https://evil.example"}},
		"a hidden origin":  {"Origin": {"null"}},
	} {
		a := s.do(t, http.MethodPost, "/numbers/ORDER/A-1/abandon", header, url.Values{"form_token": {own}, "life": {"1"}, "reason": {"x"}})
		require.Equal(t, http.StatusForbidden, a.status, why)
	}
	for _, token := range []string{"", "x", other, string(s.session(t))} {
		a := s.do(t, http.MethodPost, "/numbers/ORDER/A-1/abandon", nil, url.Values{"form_token": {token}, "life": {"1"}, "reason": {"x"}})
		require.Equal(t, http.StatusForbidden, a.status, token)
		require.Contains(t, a.page, "Nothing was done")
	}
	require.Empty(t, s.settled)
	require.Equal(t, http.StatusRequestEntityTooLarge, s.send(t, "/numbers/ORDER/A-1/abandon", url.Values{"reason": {strings.Repeat("x", 1<<17)}}).status)
}

func TestEveryPageHasItsPolicy(t *testing.T) {
	s := newFake().open(t)
	s.signIn(t, "mia")
	for _, path := range []string{"/", "/nonsense", "/sign-in", "/search"} {
		h := s.get(t, path).header
		require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'", path)
		require.NotContains(t, h.Get("Content-Security-Policy"), "unsafe")
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Equal(t, "no-store", h.Get("Cache-Control"))
		require.Equal(t, "same-origin", h.Get("Referrer-Policy"))
	}
}

func TestOpenAccessIsSaidAloudAndStillHasNoForeignForms(t *testing.T) {
	f := newFake()
	s := f.open(t, func(c *console.Config) { c.Keyring, c.Sessions = nil, nil })
	a := s.get(t, "/")
	require.Equal(t, http.StatusOK, a.status)
	require.Contains(t, a.page, "Access is open.")
	require.NotContains(t, a.page, "Sign out")
	require.Equal(t, []string{access.Anonymous}, f.asked)
	require.Equal(t, "/", s.get(t, "/sign-in").header.Get("Location"))
	refused := s.do(t, http.MethodPost, "/numbers/ORDER/A-1/abandon", http.Header{"Sec-Fetch-Site": {"cross-site"}}, url.Values{"life": {"1"}, "reason": {"x"}})
	require.Equal(t, http.StatusForbidden, refused.status)
	require.Empty(t, f.settled)
	require.Equal(t, http.StatusSeeOther, s.do(t, http.MethodPost, "/sign-out", nil, nil).status)
}

func TestWhatIsAwayIsSaid(t *testing.T) {
	s := newFake().open(t)
	s.signIn(t, "mia")
	s.err = connect.NewError(connect.CodeUnavailable, errors.New("the ledger is away"))
	a := s.get(t, "/")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Contains(t, a.page, "The ledger is away.")
	require.Contains(t, a.page, "What still works")
	live := s.do(t, http.MethodGet, "/", http.Header{"Hx-Request": {"true"}}, nil)
	require.Contains(t, live.page, `id="live" hx-get="/"`, "a page that asks again by itself goes on")

	s.away = &sequence.UnavailableError{What: "the ledger is away", Cause: errors.New("dial tcp 10.0.0.1:3306: refused")}
	a = s.get(t, "/types")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.NotContains(t, a.page, "10.0.0.1", "what is inside stays inside")
	require.NotContains(t, a.page, "goroutine")

	s.away, s.err = nil, connect.NewError(connect.CodePermissionDenied, errors.New("the token mia lacks the right"))
	require.Equal(t, http.StatusForbidden, s.get(t, "/").status)
	s.err = errors.New("a bug")
	a = s.get(t, "/")
	require.Equal(t, http.StatusInternalServerError, a.status)
}

func TestStaticFilesAreKeptForGood(t *testing.T) {
	s := newFake().open(t)
	page := s.get(t, "/sign-in").page
	_, rest, found := strings.Cut(page, `href="/static/`)
	require.True(t, found)
	version, _, _ := strings.Cut(rest, "/")
	for _, file := range []string{"style.css", "htmx.min.js", "icon.svg", "htmx.LICENSE"} {
		a := s.get(t, "/static/"+version+"/"+file)
		require.Equal(t, http.StatusOK, a.status, file)
		require.Contains(t, a.header.Get("Cache-Control"), "immutable")
		older := s.get(t, "/static/000000000000/"+file)
		require.Equal(t, http.StatusOK, older.status, "of a starter of another version")
		require.Equal(t, "no-store", older.header.Get("Cache-Control"))
	}
	for _, path := range []string{"/static/", "/static/x", "/static/x/", "/static/x/../console.go", "/static/x/none"} {
		require.NotEqual(t, http.StatusOK, s.get(t, path).status, path)
	}
}
