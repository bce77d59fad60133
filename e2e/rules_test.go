package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/lacuna-seq/lacuna/internal/promtool"
)

// rulesFile is what Prometheus is given, and what these stories evaluate: the expressions and the waits are the real ones.
const rulesFile = "../deploy/monitoring/lacuna.rules.yaml"

// alertRule is one alert of the rules.
type alertRule struct {
	Alert string        `yaml:"alert"`
	Expr  string        `yaml:"expr"`
	For   time.Duration `yaml:"for"`
}

// alertRules are all of them, by name.
func alertRules(t *testing.T) map[string]alertRule {
	t.Helper()
	text, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Rules []alertRule `yaml:"rules"`
		} `yaml:"groups"`
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	found := map[string]alertRule{}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			found[rule.Alert] = rule
		}
	}
	require.NotEmpty(t, found)
	return found
}

// goesOn says whether the rule asks how fast something happens: then the trouble has to go on for as long as the rule
// waits, and one that happened once is not enough.
func (r alertRule) goesOn() bool { return strings.Contains(r.Expr, "rate(") }

// scrapes are the samples of every process, by its job; nil where it did not answer.
type scrapes map[string]samples

// samples are values by their series, as in `lacuna_queued{queue="starts"}`.
type samples map[string]float64

// scrapeAll asks the processes as Prometheus does.
func (s *stack) scrapeAll(t *testing.T) scrapes {
	t.Helper()
	return scrapes{"lacuna-starter": scrapeTarget(t, s.starter), "lacuna-worker": scrapeTarget(t, s.worker)}
}

// scrapeTarget gives a process's samples, or nil where it does not answer within Prometheus's timeout.
func scrapeTarget(t *testing.T, p *process) samples {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ops+"/metrics", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil
	}
	found := samples{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		end := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[end+1:], 64)
		require.NoError(t, err, line)
		found[line[:end]] = value
	}
	return found
}

// scrapeEvery is Prometheus's, of deploy/monitoring.
const scrapeEvery = 15 * time.Second

// phase is a while of a story as Prometheus would remember it: two scrapes of it, laid out over its length.
type phase struct {
	begin, end scrapes
	lasts      time.Duration
	fires      bool // at its end
}

// tells evaluates the rule over phases that follow each other, and gives what promtool says where it does not fire, or
// not fire, as they expect. A gauge, and a counter that only has to have risen, keep their value for the length of the phase;
// where the rule asks for a rate, counters go on at the pace that was scraped. factor multiplies all values.
func (r alertRule) tells(t *testing.T, factor float64, phases ...phase) error {
	t.Helper()
	rules, err := filepath.Abs(rulesFile)
	require.NoError(t, err)
	type sample struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	}
	type expectation struct {
		Expr    string   `json:"expr"`
		At      string   `json:"eval_time"`
		Samples []sample `json:"exp_samples"`
	}
	var expectations []expectation
	var end time.Duration
	for _, p := range phases {
		end += p.lasts
		e := expectation{Expr: fmt.Sprintf(`clamp_max(count(ALERTS{alertname=%q,alertstate="firing"}) or vector(0), 1)`, r.Alert), At: (end - scrapeEvery).String()}
		e.Samples = []sample{{Labels: "{}", Value: 0}}
		if p.fires {
			e.Samples[0].Value = 1
		}
		expectations = append(expectations, e)
	}
	text, err := json.Marshal(map[string]any{ // promtool reads YAML, which JSON is
		"rule_files": []string{rules}, "evaluation_interval": scrapeEvery.String(),
		"tests": []any{map[string]any{"name": r.Alert, "interval": scrapeEvery.String(), "input_series": r.series(factor, phases), "promql_expr_test": expectations}},
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "test.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	path, err := promtoolPath()
	require.NoError(t, err)
	if out, err := exec.CommandContext(t.Context(), path, "test", "rules", file).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s\n%s", err, out, text)
	}
	return nil
}

// promtoolPath finds promtool, once.
var promtoolPath = sync.OnceValues(func() (string, error) {
	return promtool.Find(context.Background(), "../.dev")
})

// inputSeries is a series in promtool's notation: `5x3` is four fives, `1+2x3` counts up, `_` is no sample, `stale` the
// mark of a target that stopped answering.
type inputSeries struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

var metricName = regexp.MustCompile(`\b(?:lacuna|rpc)_[a-z_]+`)

// series lays out what the rule asks for.
func (r alertRule) series(factor float64, phases []phase) (laid []inputSeries) {
	asked := metricName.FindAllString(r.Expr, -1)
	for job := range phases[0].end {
		up := inputSeries{Series: fmt.Sprintf(`up{job=%q,instance=%q}`, job, job)}
		names := map[string]bool{}
		for _, p := range phases {
			answers := 0
			if p.end[job] != nil {
				answers = 1
			}
			up.Values += fmt.Sprintf(" %dx%d", answers, p.steps()-1)
			for name := range p.end[job] {
				if base, _, _ := strings.Cut(name, "{"); slices.Contains(asked, base) {
					names[name] = true
				}
			}
		}
		laid = append(laid, up)
		for name := range maps.Keys(names) {
			laid = append(laid, inputSeries{Series: labelled(name, job), Values: r.values(factor, job, name, phases)})
		}
	}
	return laid
}

func (p phase) steps() int { return int(p.lasts / scrapeEvery) }

func (r alertRule) values(factor float64, job, name string, phases []phase) (text string) {
	last, present := 0.0, false // of the phase before
	for _, p := range phases {
		now, ok := p.end[job][name]
		switch {
		case !ok && present:
			text += fmt.Sprintf(" stale _x%d", p.steps()-1)
		case !ok:
			text += fmt.Sprintf(" _x%d", p.steps())
		default:
			first, pace := now, 0.0
			if base, _, _ := strings.Cut(name, "{"); r.goesOn() && isCounter(base) {
				if pace = now - p.begin[job][name]; pace < 0 { // the process was started again
					pace = now
				}
				first = last + pace
			}
			text += fmt.Sprintf(" %s+%sx%d", decimal(factor*first), decimal(factor*pace), p.steps()-1)
			last = first + pace*float64(p.steps()-1)
		}
		present = ok
	}
	return text
}

// isCounter goes by the suffixes that OpenMetrics gives to what only rises.
func isCounter(metric string) bool {
	return slices.ContainsFunc([]string{"_total", "_count", "_sum", "_bucket"}, func(suffix string) bool { return strings.HasSuffix(metric, suffix) })
}

func decimal(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// labelled adds the labels that Prometheus gives to what it scraped.
func labelled(series, job string) string {
	name, rest, found := strings.Cut(series, "{")
	own := fmt.Sprintf(`%s{job=%q,instance=%q`, name, job, job)
	if !found {
		return own + "}"
	}
	return own + "," + rest
}
