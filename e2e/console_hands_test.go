package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/testkit/browser"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Every act of the console, by somebody who has no mouse.
func TestConsoleByKeyboard(t *testing.T) {
	s := newStack(t)
	s.bizType(t, "ORDER", "A-{seq:6}", 15*time.Minute, 2*time.Minute)
	first, second := s.nextFor(t, "ORDER", "cart-1"), s.nextFor(t, "ORDER", "cart-2")
	tab := browser.Open(t)
	press := func(selector string) {
		t.Helper()
		tab.TabTo(selector)
		tab.Key(kb.Enter)
	}
	write := func(selector, text string) {
		t.Helper()
		tab.TabTo(selector)
		tab.Key(kb.End)
		for range 40 {
			tab.Key(kb.Backspace)
		}
		tab.Key(text)
	}
	tab.Go(s.starter.url + "/sign-in")
	tab.TabTo("#token")
	tab.Key(s.known(t, access.Token{Name: "ada", Role: access.RoleAdmin}) + kb.Enter)
	tab.Await("h1", "Overview")

	press(".skip")
	press("#pause")
	tab.Await("#pause", "Go live")
	press(`.nav a[href="/search"]`)
	tab.Await("h1", "Search")
	tab.TabTo("#q")
	tab.Key(first.SeqNo + kb.Enter)
	tab.Await("h1", first.SeqNo)
	press(`a[href$="/abandon"]`)
	tab.Await("h1", "Abandon")
	write("#reason", "double order")
	press("main form button")
	tab.Await("main", "It is abandoned.")
	require.Equal(t, sequence.Abandoned, s.row(t, first.BizType, first.SeqNo).State)
	tab.Await(".steps", "by ada")
	tab.Await(".steps", "double order")

	press(`a[href$="/confirm"]`)
	tab.Await("h1", "Confirm")
	write("#reason", "it was printed")
	tab.Key(kb.Enter)
	tab.Await("main", "It had been given up, and is saved")
	require.Equal(t, sequence.Confirmed, s.row(t, first.BizType, first.SeqNo).State)

	tab.Go(s.numberPage(second))
	press(`a[href$="/confirm"]`)
	write("#reason", "by telephone")
	press("main form button")
	tab.Await("main", "It is confirmed.")
	require.Equal(t, 1, strings.Count(tab.Text(".steps"), "Confirmed"), "what was done by hand is told once")
	events, err := s.ledger.Events(t.Context(), second.BizType, second.SeqNo)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, sequence.OutcomeConfirmed, events[0].Outcome)
	require.Equal(t, "ada", events[0].Actor)
	require.Equal(t, "by telephone", events[0].Reason)

	press(`.nav a[href="/types"]`)
	tab.Await("h1", "Biz types")
	press(`main a[href="/types/ORDER"]`)
	tab.Await("h1", "ORDER")
	press(`a[href="/types/ORDER/edit"]`)
	tab.Await("h1", "Edit ORDER")
	write("#safetyWindow", "an hour")
	tab.Key(kb.Enter)
	tab.Await("#safetyWindow-wrong", "Is not a time")
	tab.InspectThis("type-edit-wrong")
	write("#safetyWindow", "1h")
	write("#stepMin", "99999")
	tab.Key(kb.Enter)
	tab.Await("#stepMin-wrong", "99999 is not from 1 to 10000")
	write("#stepMin", "20")
	tab.TabTo("#durableIssue")
	tab.Key(" ")
	tab.TabTo("#reuse")
	tab.Key("n") // never
	press("main form button[type=submit]")
	tab.Await(".notice", "Saved, as revision 2")
	b, err := s.ledger.BizType(t.Context(), "ORDER")
	require.NoError(t, err)
	require.Equal(t, time.Hour, b.SafetyWindow)
	require.Equal(t, sequence.ReuseNever, b.Reuse)
	require.True(t, b.DurableIssue)

	press(`a[href="/types/ORDER/edit"]`)
	tab.Await("h1", "Edit ORDER")
	status, answer := s.post(t, "OperatorService/PutBizType", `{"bizType":{"name":"ORDER","revision":"2","safetyWindow":"90s"}}`)
	require.Equal(t, 200, status, "%v", answer)
	write("#safetyWindow", "3h")
	tab.Key(kb.Enter)
	tab.Await("main", "Somebody changed it meanwhile.")
	tab.Await(".theirs", "1 min 30 s")
	tab.InspectThis("type-edit-meanwhile")
	press("main form button[type=submit]")
	tab.Await(".notice", "Saved, as revision 4")

	tab.Go(s.starter.url + "/types")
	press(`a[href="/types/new"]`)
	tab.Await("h1", "New biz type")
	write("#name", "CLAIM")
	write("#format", "C-{seq:6}")
	tab.Key(kb.Enter)
	tab.Await("h1", "CLAIM")
	press(".who button")
	tab.Await("h1", "Sign in")
	require.Empty(t, tab.Complaints())
}

// All is read, and done, without JavaScript.
func TestConsoleWithoutJavaScript(t *testing.T) {
	s := newStack(t)
	s.bizType(t, "ORDER", "A-{seq:6}", 15*time.Minute, 2*time.Minute)
	n := s.nextFor(t, "ORDER", "cart-1")
	tab := browser.Open(t)
	tab.WithoutScripts()
	tab.Go(s.starter.url + "/sign-in")
	tab.Type("#token", s.token+kb.Enter)
	tab.Await("h1", "Overview")
	tab.Await("main", "ORDER")
	tab.Go(s.starter.url + "/search")
	tab.Type("#q", "cart-1"+kb.Enter)
	tab.Await("h1", n.SeqNo)
	tab.Click(`a[href$="/abandon"]`)
	tab.Await("h1", "Abandon")
	tab.Type("#reason", "a test"+kb.Enter)
	tab.Await("main", "It is abandoned.")
}
