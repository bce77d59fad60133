package e2e

import (
	"os"
	"testing"
)

func soaking() bool { return os.Getenv("LACUNA_SOAK") != "" }

// besideOthers lets a story be told beside others: most of it is waiting. In full each has the machine to itself.
func besideOthers(t *testing.T) {
	t.Helper()
	if !soaking() {
		t.Parallel()
	}
}

// rounds is how often a story repeats: a few times in a normal test run, in full by `make soak`.
func rounds(normal, full int) int {
	if soaking() {
		return full
	}
	return normal
}
