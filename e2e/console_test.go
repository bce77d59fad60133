package e2e

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit/browser"
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

// Every page as people see it, on a system that has lived a little.
func TestConsolePages(t *testing.T) {
	s := newStack(t)
	tab := s.signIn(t, s.token)
	out := browser.Open(t)
	for _, page := range []struct {
		tab        *browser.Tab
		name, path string
		status     int
	}{
		{out, "sign-in", "/sign-in", http.StatusOK},
		{tab, "overview", "/", http.StatusOK},
		{tab, "no-page", "/nonsense", http.StatusNotFound},
	} {
		t.Run(page.name, func(t *testing.T) { page.tab.Inspect(page.name, s.starter.url+page.path, page.status) })
	}
	t.Run("leads to the sign-in, and back", func(t *testing.T) {
		out.Go(s.starter.url + "/?live=off")
		require.Equal(t, "/sign-in?next=%2F%3Flive%3Doff", out.Address())
		out.Type("#token", s.token+kb.Enter)
		out.Await(".who", storyteller)
		require.Equal(t, "/?live=off", out.Address())
	})
}
