package browser

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// The widths, in pixels, and the colour schemes in which every page is looked at.
var (
	Widths  = []int64{360, 1440}
	Schemes = []string{"light", "dark"}
)

const height = 900 // of the window, in pixels

// See makes the tab that wide, with the colour scheme. Nothing moves: a picture would be of something in between.
func (tab *Tab) See(width int64, scheme string) {
	tab.t.Helper()
	require.NoError(tab.t, call(tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600,
	}))
	require.NoError(tab.t, call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	}))
}

// Inspect opens a page at every width in every colour scheme. The page must answer the status, keep within the width,
// complain of nothing, and have no fault that axe-core calls serious. A picture of each is kept in
// .dev/screenshots/<name>-<width>-<scheme>.png.
func (tab *Tab) Inspect(name, url string, status int) {
	tab.t.Helper()
	tab.each(name, func() { require.Equal(tab.t, status, tab.Go(url), url) })
}

// InspectThis is Inspect of the page that is open, e.g. of what a form was answered.
func (tab *Tab) InspectThis(name string) {
	tab.t.Helper()
	tab.each(name, func() {})
}

func (tab *Tab) each(name string, open func()) {
	tab.t.Helper()
	dir := filepath.Join(testkit.DevFolder(tab.t), "screenshots")
	require.NoError(tab.t, os.MkdirAll(dir, 0o755))
	tab.Complaints()
	for _, width := range Widths {
		for _, scheme := range Schemes {
			look := fmt.Sprintf("%s-%d-%s", name, width, scheme)
			tab.See(width, scheme)
			open()
			picture := get(tab, chromedp.FullScreenshot(100))
			require.NoError(tab.t, os.WriteFile(filepath.Join(dir, look+".png"), picture, 0o644)) //nolint:gosec // to be looked at
			needs := get(tab, chromedp.Evaluate[int64]("document.documentElement.scrollWidth"))
			require.LessOrEqual(tab.t, needs, width, "%s scrolls sideways: %s", look, tab.widest())
			require.Empty(tab.t, tab.Axe(), look)
			require.Empty(tab.t, tab.Complaints(), look)
		}
	}
}

// widest names the elements that stick out of the page.
func (tab *Tab) widest() []string {
	tab.t.Helper()
	return get(tab, chromedp.Evaluate[[]string](`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth)
		.map(e => e.tagName + "." + e.className + " " + Math.round(e.getBoundingClientRect().right)).slice(0, 5)`))
}
