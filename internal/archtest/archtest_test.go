// Package archtest holds the arrows between packages that a linter cannot see: what a package
// reaches through others.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/lacuna-seq/lacuna/"

// reach lists what a package must not reach, not even through others.
var reach = []struct {
	packages  []string
	forbidden []string
	reason    string
}{
	{
		[]string{"sequence", "activities", "workflows"},
		[]string{"database/sql", "github.com/redis/go-redis/v9", "go.opentelemetry.io/otel"},
		"rules, activities and workflows work on any store and with any telemetry",
	},
	{
		[]string{"client"},
		[]string{"go.temporal.io/sdk/client", "github.com/redis/go-redis/v9"},
		"a service that takes numbers needs neither Temporal nor Redis",
	},
	{
		[]string{"client/lacunatest"},
		[]string{"go.temporal.io/sdk/client", "go.temporal.io/api/enums/v1", "github.com/redis/go-redis/v9", "go.opentelemetry.io/otel", module + "db/ledger", module + "issuer", module + "internal/testkit"},
		"the double is a service's whole Lacuna: its tests need no server and none of their clients",
	},
	{
		[]string{"internal/console"},
		[]string{"database/sql", "github.com/redis/go-redis/v9", "go.temporal.io/sdk/client"},
		"the console is a client of the API: what a person may do there is what the API lets its token do",
	},
}

// direct lists what a package must not import itself.
var direct = []struct {
	packages  []string
	forbidden []string
	reason    string
}{
	{
		[]string{"sequence", "workflows"},
		[]string{"log", "log/slog", "math/rand", "math/rand/v2", "os"},
		"a replayed workflow must decide as it did the first time",
	},
}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestPackagesReachOnlyWhatTheyMay(t *testing.T) {
	for _, rule := range reach {
		for _, p := range list(t, rule.packages) {
			for _, path := range rule.forbidden {
				require.NotContains(t, p.Deps, path, "%s: %s", p.ImportPath, rule.reason)
			}
		}
	}
}

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	for _, rule := range direct {
		for _, p := range list(t, rule.packages) {
			for _, path := range rule.forbidden {
				require.NotContains(t, p.Imports, path, "%s: %s", p.ImportPath, rule.reason)
			}
		}
	}
}

// list asks the go command for the packages; one that does not exist fails the test.
func list(t *testing.T, names []string) []goPackage {
	t.Helper()
	args := []string{"list", "-json=ImportPath,Imports,Deps"}
	for _, name := range names {
		args = append(args, module+name)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("a listed package is gone: %s", exit.Stderr)
	}
	require.NoError(t, err)
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	require.Len(t, packages, len(names))
	for _, name := range names {
		require.True(t, slices.ContainsFunc(packages, func(p goPackage) bool { return p.ImportPath == module+name }), name)
	}
	return packages
}
