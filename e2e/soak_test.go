package e2e

import "os"

// rounds is how often a story repeats: a few times in a normal test run, in full by `make soak`.
func rounds(normal, full int) int {
	if os.Getenv("LACUNA_SOAK") != "" {
		return full
	}
	return normal
}
