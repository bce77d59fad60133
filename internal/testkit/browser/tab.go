package browser

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/devenv"
	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// patience ends an action that a page does not come to.
const patience = testkit.Patience

// browser is the process's; a start that failed fails every test that asks.
var browser struct {
	once sync.Once
	ctx  context.Context //nolint:containedctx // it is how chromedp names a browser
	err  error
}

func start(dir string) {
	path, err := devenv.FindChromium(context.Background(), dir, func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "testkit: "+format+"\n", args...)
	})
	if err != nil {
		browser.err = err
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, //nolint:gocritic // a copy: the array is sliced to its end
		chromedp.Flag("lang", "en-US"), chromedp.WSURLReadTimeout(patience))
	allocator, free := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	testkit.AtEnd(func() { cancel(); free() })
	browser.ctx, browser.err = ctx, chromedp.Do(ctx)
}

// call sends a command of Chromium's protocol.
func call[P, R any](tab *Tab, command cdp.Command[P, R], params P) error {
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	_, err := chromedp.Call(ctx, command, params)
	return err
}

// Tab is a tab with cookies of its own. Its methods fail the test where a page does not do what is asked of it.
type Tab struct {
	t   testing.TB
	ctx context.Context //nolint:containedctx // it is how chromedp names a tab

	mu      sync.Mutex
	errors  []string
	dialogs []string
}

// Open gives a new tab, which closes with the test.
func Open(t testing.TB) *Tab {
	t.Helper()
	dir := testkit.DevFolder(t)
	browser.once.Do(func() { start(dir) })
	require.NoError(t, browser.err)
	ctx, cancel := chromedp.NewContext(browser.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	tab := &Tab{t: t, ctx: ctx}
	require.NoError(t, chromedp.Do(ctx)) // without an end: the tab lives as long as the context of its first call
	require.NoError(t, chromedp.Listen(ctx, tab.listen))
	for _, enable := range []func() error{
		func() error { return call(tab, log.Enable, cdp.Empty{}) },
		func() error { return call(tab, runtime.Enable, cdp.Empty{}) },
		func() error { return call(tab, page.Enable, page.EnableParams{}) },
	} {
		require.NoError(t, enable())
	}
	return tab
}

// listen keeps what a page complains of, and closes what it opens.
func (tab *Tab) listen(event any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		tab.errors = append(tab.errors, e.ExceptionDetails.Text+" "+e.ExceptionDetails.URL)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			for _, arg := range e.Args {
				tab.errors = append(tab.errors, fmt.Sprintf("%s %s", arg.Value, arg.Description))
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && !isStatus(e.Entry) {
			tab.errors = append(tab.errors, e.Entry.Text+" "+e.Entry.URL)
		}
	case *page.EventJavascriptDialogOpening:
		tab.dialogs = append(tab.dialogs, e.Message)
		go call(tab, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) //nolint:errcheck // not from within the listener; the test looks at dialogs
	}
}

// isStatus reports whether an entry only says that a page answered 4xx or 5xx: tests look at that themselves.
func isStatus(e *log.Entry) bool {
	return e.Source == log.EntrySourceNetwork && strings.Contains(e.Text, "the server responded with a status of")
}

// Do runs an action of chromedp.
func (tab *Tab) Do(action chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	get(tab, action)
}

// try runs an action, and ends it when its patience does.
func try[T any](tab *Tab, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, action)
}

// get runs an action that gives something. It tries again where a live page changed under the action, which then has
// done nothing yet.
func get[T any](tab *Tab, action chromedp.Action[T]) (value T) {
	tab.t.Helper()
	testkit.Eventually(tab.t, func() bool {
		var err error
		if value, err = try(tab, action); err != nil && changed(err) {
			return false
		}
		require.NoError(tab.t, err)
		return true
	}, "the page never holds still")
	return value
}

// changed reports whether Chromium says that what an action had looked up is gone: an element that was replaced, or a
// page that another one followed.
func changed(err error) bool {
	for _, gone := range []string{"No node with given id found", "Could not find node with given id", "Execution context was destroyed", "Cannot find context with specified id", "Inspected target navigated or closed"} {
		if strings.Contains(err.Error(), gone) {
			return true
		}
	}
	return false
}

// Type types into an element; kb.Enter at the end sends its form.
func (tab *Tab) Type(selector, text string) {
	tab.t.Helper()
	tab.Do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Click clicks an element.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	tab.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Go opens an address and gives the status of the answer.
func (tab *Tab) Go(url string) int {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, chromedp.Navigate(url))
	require.NoError(tab.t, err, url)
	return int(response.Status)
}

// Text is what an element shows, once it is there.
func (tab *Tab) Text(selector string) (text string) {
	tab.t.Helper()
	testkit.Eventually(tab.t, func() bool {
		shown, err := try(tab, shownBy(selector))
		if err != nil || shown == nil {
			return false // a page on its way has no answer
		}
		text = *shown
		return true
	}, "there is no %s", selector)
	return text
}

// shownBy reads an element's text, null where there is none, in one step: a live page replaces its elements at any moment.
func shownBy(selector string) chromedp.Action[*string] {
	return chromedp.Evaluate[*string](fmt.Sprintf("document.querySelector(%q)?.innerText ?? null", selector))
}

// Has reports whether there is such an element.
func (tab *Tab) Has(selector string) bool {
	tab.t.Helper()
	return get(tab, chromedp.Evaluate[bool](fmt.Sprintf("document.querySelector(%q) !== null", selector)))
}

// Address is the path and the query of the page.
func (tab *Tab) Address() string {
	tab.t.Helper()
	return get(tab, chromedp.Evaluate[string]("location.pathname + location.search"))
}

// Await waits until an element shows the text.
func (tab *Tab) Await(selector, text string) {
	tab.t.Helper()
	testkit.Eventually(tab.t, func() bool {
		shown, err := try(tab, shownBy(selector)) // a page on its way has no answer
		return err == nil && shown != nil && strings.Contains(*shown, text)
	}, "%s never showed %q", selector, text)
}

// Complaints are the errors of scripts and of the page's policy since they were asked for last.
func (tab *Tab) Complaints() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	complaints := tab.errors
	tab.errors = nil
	return complaints
}

// Dialogs are the dialogs that pages opened.
func (tab *Tab) Dialogs() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return tab.dialogs
}

// Key presses a key of package kb, e.g. kb.Enter, or types text.
func (tab *Tab) Key(keys string) {
	tab.t.Helper()
	tab.Do(chromedp.KeyEvent(keys))
}

// BackTab goes to the element before, as Shift+Tab does.
func (tab *Tab) BackTab() {
	tab.t.Helper()
	tab.Do(chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(kb.ModifierShift)))
}

// TabTo presses Tab until the element has the focus, as somebody without a mouse does. It fails where the focus has
// come round without meeting it.
func (tab *Tab) TabTo(selector string) {
	tab.t.Helper()
	for range maxTabs {
		if get(tab, chromedp.Evaluate[bool](fmt.Sprintf("document.activeElement !== null && document.activeElement.matches(%q)", selector))) {
			return
		}
		tab.Key(kb.Tab)
	}
	require.Fail(tab.t, "cannot be reached by keyboard", selector)
}

// maxTabs is more than any page has elements that take the focus.
const maxTabs = 200

// WithoutScripts makes pages run no JavaScript from now on.
func (tab *Tab) WithoutScripts() {
	tab.t.Helper()
	require.NoError(tab.t, call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
}

// Cookies are the cookies that the browser sends to the open page, those that scripts cannot read among them.
func (tab *Tab) Cookies() map[string]string {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	answer, err := chromedp.Call(ctx, network.GetCookies, network.GetCookiesParams{})
	require.NoError(tab.t, err)
	cookies := make(map[string]string, len(answer.Cookies))
	for _, c := range answer.Cookies {
		cookies[c.Name] = c.Value
	}
	return cookies
}
