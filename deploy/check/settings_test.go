package check

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lacuna-seq/lacuna/internal/config"
	"github.com/stretchr/testify/require"
)

// programs are the settings of what is deployed; lacuna is deployed as `lacuna migrate up`.
var programs = map[string]func() any{
	"starter": func() any { return new(config.Starter) },
	"worker":  func() any { return new(config.Worker) },
	"lacuna":  func() any { return new(config.Ledger) },
}

// foreign are variables that libraries of the programs read.
var foreign = []string{"TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_TLS", "TEMPORAL_API_KEY", "OTEL_EXPORTER_OTLP_ENDPOINT"}

// requireSettings starts a program's parsing with an environment: what it must have is there, and every
// value is one that it takes. A variable that no program knows is a typing error.
func requireSettings(t *testing.T, program string, environment map[string]string) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "LACUNA_") {
			require.NoError(t, os.Unsetenv(name))
			t.Cleanup(func() { _ = os.Setenv(name, value) }) //nolint:usetesting // it puts back what was there
		}
	}
	known := slices.Clone(foreign)
	for _, settings := range programs {
		known = append(known, variables(reflect.TypeOf(settings()).Elem())...)
	}
	for name, value := range environment {
		require.Contains(t, known, name, "%s is set, and nobody reads it", name)
		t.Setenv(name, value)
	}
	require.NoError(t, config.Parse(program, "", nil, programs[program]()))
}

// variables are the names in a struct's env tags.
func variables(settings reflect.Type) (names []string) {
	for field := range settings.Fields() {
		if name := field.Tag.Get("env"); name != "" {
			names = append(names, name)
		}
		if field.Anonymous {
			names = append(names, variables(field.Type)...)
		}
	}
	return names
}
