package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/internal/testkit/browser"
	"github.com/lacuna-seq/lacuna/sequence"
)

// signIn opens a tab and signs in with the token.
func (s *stack) signIn(t *testing.T, token string) *browser.Tab {
	t.Helper()
	tab := browser.Open(t)
	tab.Go(s.starter.url + "/sign-in")
	tab.Type("#token", token+kb.Enter)
	tab.Await(".who", "Signed in as")
	return tab
}

// known makes a token and waits until the starter knows it.
func (s *stack) known(t *testing.T, token access.Token) (text string) {
	t.Helper()
	text = s.newToken(t, token)
	testkit.Eventually(t, func() bool {
		status, _ := s.as(t, text, "SequenceService/Get", `{"ticket":"x"}`)
		return status != http.StatusUnauthorized
	}, "the token %s is not known", token.Name)
	return text
}

// nextFor takes one number of the biz type for a biz key, and waits until that is written down.
func (s *stack) nextFor(t *testing.T, bizType, bizKey string) sequence.Ticket {
	t.Helper()
	status, answer := s.call(t, "Next", fmt.Sprintf(`{"bizType":%q,"bizKey":%q}`, bizType, bizKey))
	require.Equal(t, http.StatusOK, status, "%v", answer)
	n := mustTicket(t, answer["numbers"].([]any)[0].(map[string]any)["ticket"].(string))
	testkit.Eventually(t, func() bool { return s.row(t, n.BizType, n.SeqNo).Life == n.Life }, "the hand-out of %s is not written down", n)
	return n
}

// numberPage is the address of a number's page.
func (s *stack) numberPage(n sequence.Ticket) string {
	return s.starter.url + "/numbers/" + n.BizType + "/" + n.SeqNo
}

// live gives the stack some numbers: one of them has had two lives and is in its second.
func (s *stack) live(t *testing.T) (twice sequence.Ticket) {
	t.Helper()
	s.bizType(t, "INVOICE", "INV{yyyy}{MM}-{seq:6}{luhn}", 15*time.Minute, 2*time.Minute)
	first := s.nextFor(t, "DEMO", "cart-1")
	require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", first.String()))
	s.awaitState(t, first.BizType, first.SeqNo, sequence.Replayable)
	testkit.Eventually(t, func() bool {
		twice = s.nextFor(t, "DEMO", "cart-2")
		if twice.SeqNo != first.SeqNo {
			s.settle(t, "Confirm", twice.String())
		}
		return twice.SeqNo == first.SeqNo
	}, "%s is not issued again", first)
	require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", twice.String()))
	_, answer := s.call(t, "Confirm", fmt.Sprintf(`{"ticket":%q,"bizKey":"cart-1"}`, first.String()))
	require.Equal(t, "already_exists", answer["code"])
	for i := range 12 {
		n := s.nextFor(t, "INVOICE", "order-7")
		if i%3 == 0 {
			s.settle(t, "Confirm", n.String())
		}
	}
	return twice
}

// Every page as people see it, on a system that has lived a little.
func TestConsolePages(t *testing.T) {
	s := newStack(t)
	twice := s.live(t)
	held := s.nextFor(t, "INVOICE", "order-8")
	tab, out := s.signIn(t, s.token), browser.Open(t)
	auditor := s.signIn(t, s.known(t, access.Token{Name: "eve", Role: access.RoleAuditor}))
	tab.Go(s.starter.url + "/?live=off")
	testkit.Eventually(t, func() bool {
		tab.Go(s.starter.url + "/?live=off")
		return tab.Has(".states .CONFIRMED") && !tab.Has(".counted:not(:has(time))")
	}, "the states are not counted")

	for _, page := range []struct {
		tab        *browser.Tab
		name, path string
		status     int
	}{
		{out, "sign-in", "/sign-in", http.StatusOK},
		{tab, "overview", "/", http.StatusOK},
		{tab, "search", "/search", http.StatusOK},
		{tab, "search-found", "/search?q=order-7", http.StatusOK},
		{tab, "search-nothing", "/search?q=nonsense", http.StatusOK},
		{tab, "search-refused", "/search?q=" + url.QueryEscape("a\x01b"), http.StatusBadRequest},
		{tab, "number", "/numbers/DEMO/" + twice.SeqNo, http.StatusOK},
		{tab, "number-held", "/numbers/INVOICE/" + held.SeqNo, http.StatusOK},
		{tab, "confirm", "/numbers/INVOICE/" + held.SeqNo + "/confirm", http.StatusOK},
		{tab, "abandon", "/numbers/INVOICE/" + held.SeqNo + "/abandon", http.StatusOK},
		{tab, "no-number", "/numbers/DEMO/D-999999", http.StatusNotFound},
		{tab, "types", "/types", http.StatusOK},
		{tab, "type", "/types/INVOICE", http.StatusOK},
		{tab, "type-edit", "/types/INVOICE/edit", http.StatusOK},
		{tab, "type-new", "/types/new", http.StatusOK},
		{auditor, "type-of-an-auditor", "/types/INVOICE", http.StatusOK},
		{auditor, "denied", "/types/INVOICE/edit", http.StatusForbidden},
		{tab, "no-page", "/nonsense", http.StatusNotFound},
	} {
		t.Run(page.name, func(t *testing.T) { page.tab.Inspect(page.name, s.starter.url+page.path, page.status) })
	}
	t.Run("number has its lives, each with its run", func(t *testing.T) {
		tab.Go(s.numberPage(twice))
		require.Contains(t, tab.Text("#life-1"), "cart-1")
		require.Contains(t, tab.Text("#life-1"), "Given up by caller")
		require.Contains(t, tab.Text("#life-1"), "Conflict: another holder was refused")
		require.Contains(t, tab.Text("#life-2"), "Confirmed")
		for _, l := range []string{"~1", "~2"} {
			require.True(t, tab.Has(fmt.Sprintf(`.life a[href="http://ui/namespaces/default/workflows/DEMO~%s%s"]`, twice.SeqNo, l)), l)
		}
	})
	t.Run("leads to the sign-in, and back", func(t *testing.T) {
		out.Go(s.starter.url + "/?live=off")
		require.Equal(t, "/sign-in?next=%2F%3Flive%3Doff", out.Address())
		out.Type("#token", "nonsense"+kb.Enter)
		out.Await("#fault", "That is no valid token")
		out.InspectThis("sign-in-failed")
		out.Type("#token", s.token+kb.Enter)
		out.Await(".who", storyteller)
		require.Equal(t, "/?live=off", out.Address())
	})
	t.Run("goes on by itself", func(t *testing.T) {
		out.Go(s.starter.url + "/")
		before := out.Text(".asof time")
		testkit.Eventually(t, func() bool { return out.Text(".asof time") != before }, "the overview stands still")
		require.Empty(t, out.Complaints())
	})
	t.Run("finds by ticket, number and biz key", func(t *testing.T) {
		for _, query := range []string{twice.String(), twice.SeqNo, "order-8"} {
			out.Go(s.starter.url + "/search")
			out.Type("#q", query+kb.Enter)
			out.Await("main", "Lives")
		}
		require.Equal(t, "/numbers/INVOICE/"+held.SeqNo, out.Address())
	})
}
