package check

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// ruleFile is a file of alert rules.
type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

type rule struct {
	Alert       string            `json:"alert,omitempty"`
	Record      string            `json:"record,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

const monitoring = "../monitoring/"

func alerts(t *testing.T) (found []rule) {
	t.Helper()
	for _, group := range decode[ruleFile](t, read(t, monitoring+"lacuna.rules.yaml")).Groups {
		found = append(found, group.Rules...)
	}
	require.NotEmpty(t, found)
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestTheAlertsFireWhenTheyShould(t *testing.T) {
	runPromtool(t, "check", "rules", monitoring+"lacuna.rules.yaml")
	runPromtool(t, "test", "rules", monitoring+"lacuna.rules.test.yaml")
}

func TestEveryAlertIsTested(t *testing.T) {
	tests := read(t, monitoring+"lacuna.rules.test.yaml")
	for _, a := range alerts(t) {
		require.Contains(t, tests, `alertname="`+a.Alert+`"`)
	}
}

func TestEveryAlertSaysWhatToDo(t *testing.T) {
	anchors := anchors(read(t, root+"/docs/operations.md"))
	for _, a := range alerts(t) {
		require.Contains(t, []string{"warning", "critical"}, a.Labels["severity"], a.Alert)
		require.NotEmpty(t, a.Annotations["summary"], a.Alert)
		require.NotEmpty(t, a.Annotations["description"], a.Alert)
		page, anchor, _ := strings.Cut(a.Annotations["runbook_url"], "#")
		require.True(t, strings.HasSuffix(page, "/docs/operations.md"), "%s: %s", a.Alert, page)
		require.Contains(t, anchors, anchor, "%s leads nowhere", a.Alert)
	}
}

// anchors are those of a Markdown file's headings, as GitHub makes them.
func anchors(markdown string) (found []string) {
	other := regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)
	for line := range strings.Lines(markdown) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			found = append(found, strings.ReplaceAll(other.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-"))
		}
	}
	return found
}

func TestPrometheusTakesItsConfigurations(t *testing.T) {
	runPromtool(t, "check", "config", monitoring+"prometheus.yaml")
	// Debian's promtool does not know Kubernetes: in its place stands a list of targets, and the relabelling stays.
	text := read(t, monitoring+"prometheus-kubernetes.yaml")
	discovery := regexp.MustCompile(`kubernetes_sd_configs: .*`)
	require.Len(t, discovery.FindAllString(text, -1), 1)
	copied := filepath.Join(t.TempDir(), "prometheus.yaml")
	require.NoError(t, os.WriteFile(copied, []byte(discovery.ReplaceAllString(text, `static_configs: [{targets: ["x:1"]}]`)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(copied), "lacuna.rules.yaml"), []byte(read(t, monitoring+"lacuna.rules.yaml")), 0o600))
	runPromtool(t, "check", "config", copied)
}

func TestPrometheusNamesTheJobsAsTheAlertsDo(t *testing.T) {
	used := map[string]bool{}
	for _, a := range alerts(t) {
		for _, match := range regexp.MustCompile(`job="([^"]+)"`).FindAllStringSubmatch(a.Expr, -1) {
			used[match[1]] = true
		}
	}
	require.NotEmpty(t, used)
	for job := range used {
		require.Contains(t, read(t, monitoring+"prometheus.yaml"), "job_name: "+job+"\n")
		require.Contains(t, build(t, "base").pods(), job, "in Kubernetes the job is the pod's name")
	}
}

// dashboard is as much of Grafana's model as can be wrong here.
type dashboard struct {
	UID    string `json:"uid"`
	Panels []struct {
		ID         int                  `json:"id"`
		Type       string               `json:"type"`
		Title      string               `json:"title"`
		Datasource struct{ UID string } `json:"datasource"`
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct{ RefID, Expr string }
	} `json:"panels"`
}

func TestTheDashboardCanBeShown(t *testing.T) {
	var d dashboard
	require.NoError(t, json.Unmarshal([]byte(read(t, monitoring+"grafana/dashboards/lacuna.json")), &d))
	source := read(t, monitoring+"grafana/datasources/prometheus.yaml")
	var rows, expressions []string
	ids, places := map[int]bool{}, map[string]bool{}
	for _, p := range d.Panels {
		require.False(t, ids[p.ID], "%s has another panel's id", p.Title)
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				place := fmt.Sprint(x, ",", y)
				require.False(t, places[place], "%s covers another panel", p.Title)
				places[place] = true
			}
		}
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24)
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		require.Contains(t, source, "uid: "+p.Datasource.UID+",", p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			expressions = append(expressions, strings.NewReplacer("$__rate_interval", "1m", "$biz_type", ".*").Replace(target.Expr))
		}
	}
	require.Equal(t, []string{"Issuing", "Lifecycle", "Patrol", "Servers", "Numbers"}, rows)
	checkExpressions(t, expressions...)
}

// checkExpressions lets promtool read PromQL, as the expressions of recording rules.
func checkExpressions(t *testing.T, expressions ...string) {
	t.Helper()
	rules := make([]rule, len(expressions))
	for i, expression := range expressions {
		require.NotContains(t, expression, "$", "a variable that nothing replaces")
		rules[i] = rule{Record: fmt.Sprint("x", i), Expr: expression}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "x", "rules": rules}}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	runPromtool(t, "check", "rules", file)
}
