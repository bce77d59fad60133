package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// axeVersion is the axe-core that is fetched from the npm registry.
const axeVersion = "4.14.1"

var axe struct {
	once   sync.Once
	script string
	err    error
}

// fetchAxe gives the script of axe-core, fetched once into the .dev folder.
func fetchAxe(dev string) (string, error) {
	file := filepath.Join(dev, "axe-core-"+axeVersion+".js")
	if script, err := os.ReadFile(file); err == nil {
		return string(script), nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", errors.New("npm is missing, and with it axe-core, which looks for what keeps people out: apt-get install npm, or install Node.js")
	}
	if err := os.MkdirAll(dev, 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(dev, "axe-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // in .dev
	for _, args := range [][]string{
		{"npm", "pack", "axe-core@" + axeVersion, "--silent"},
		{"tar", "xzf", "axe-core-" + axeVersion + ".tgz", "package/axe.min.js"},
	} {
		cmd := exec.CommandContext(context.Background(), args[0], args[1:]...) //nolint:gosec // constants
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", args, err, out)
		}
	}
	script, err := os.ReadFile(filepath.Join(dir, "package", "axe.min.js"))
	if err == nil {
		err = os.Rename(filepath.Join(dir, "package", "axe.min.js"), file) // whole, for tests that run beside this one
	}
	return string(script), err
}

// runAxe gives a line for each violation that is serious or worse.
const runAxe = `axe.run(document, {resultTypes: ["violations"]}).then(result => result.violations
	.filter(v => v.impact === "serious" || v.impact === "critical")
	.map(v => v.impact + ": " + v.id + ": " + v.help + ": " + v.nodes.map(n => n.target.join(" ") + " (" + n.failureSummary + ")").join("; ")))`

// Axe asks axe-core what in the page keeps people out who see, hear or move otherwise; only what it calls serious or
// critical. Its script is evaluated by the debugger, which the page's policy does not bind.
func (tab *Tab) Axe() []string {
	tab.t.Helper()
	dev := testkit.DevFolder(tab.t)
	axe.once.Do(func() { axe.script, axe.err = fetchAxe(dev) })
	require.NoError(tab.t, axe.err)
	tab.Do(chromedp.Evaluate[chromedp.Void](axe.script + "; null"))
	return get(tab, chromedp.Evaluate[[]string](runAxe, chromedp.EvalAwaitPromise))
}
