package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// What alerts, dashboards and autoscalers ask Prometheus for, the programs show once each thing has happened: a name that
// is misspelt, or that a library has renamed, is an alert that never fires.
func TestEveryMetricThatIsAskedForExists(t *testing.T) {
	url, alerts := hook(t)
	sent := newCollector(t)
	s := newStack(t, append(sent.env(), "LACUNA_ALERT_URL="+url)...)
	first, seqNo := s.next(t, "DEMO")
	s.awaitState(t, "DEMO", seqNo, sequence.Replayable)
	testkit.Eventually(t, func() bool {
		ticket, again := s.next(t, "DEMO")
		require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", ticket))
		return again == seqNo
	}, "it is not issued again")
	require.Equal(t, "already_exists", s.settle(t, "Confirm", first))
	<-alerts

	asked := askedFor(t)
	require.Greater(t, len(asked), 20)
	var missing []string
	testkit.Eventually(t, func() bool {
		shown := names(s.scrape(t, s.starter) + s.scrape(t, s.worker))
		missing = nil
		for name, file := range asked {
			if !shown[name] {
				missing = append(missing, name+" of "+file)
			}
		}
		return len(missing) == 0
	}, "no program shows %v", &missing)

	// The same are sent by OTLP, where counters and histograms have no suffixes.
	for name := range names(s.scrape(t, s.starter)) {
		if strings.HasPrefix(name, "lacuna_") {
			instrument := suffix.ReplaceAllString(name, "")
			testkit.Eventually(t, func() bool { return sent.received("lacuna-starter", instrument) }, "the starter does not send %s", instrument)
		}
	}
	testkit.Eventually(t, func() bool { return sent.received("lacuna-worker", "lacuna_numbers") }, "the worker sends nothing")
}

var suffix = regexp.MustCompile(`_(total|bucket|sum|count)$`)

// metricOrLabel is how the metrics of Lacuna and of its libraries begin, and some of their labels.
var metricOrLabel = regexp.MustCompile(`\b(?:lacuna|temporal|rpc|db|go|process)_[a-z_]+\b`)

// askedFor are the names in the files that ask Prometheus, each with one of the files.
func askedFor(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, file := range []string{"monitoring/lacuna.rules.yaml", "monitoring/grafana/dashboards/lacuna.json", "kubernetes/base/worker-scaling.yaml"} {
		text, err := os.ReadFile(filepath.Join("../deploy", file))
		require.NoError(t, err)
		here := metricOrLabel.FindAllString(string(text), -1)
		require.NotEmpty(t, here, file)
		for _, name := range here {
			found[name] = file
		}
	}
	return found
}

// names are those of the series, and of their labels, in a scrape.
func names(scrape string) map[string]bool {
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^([a-z_]+)|[{,]([a-z_]+)=`).FindAllStringSubmatch(scrape, -1) {
		found[match[1]+match[2]] = true
	}
	return found
}
