package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// Kill -9 under load, again and again: every ticket has one holder, and every value is accounted for.
func TestKillsUnderLoad(t *testing.T) {
	s := newStack(t)
	load := &load{stack: s, tickets: map[string]int{}}
	for range rounds(5, 100) {
		stop := load.run(t)
		before := load.count()
		testkit.Eventually(t, func() bool { return load.count() > before+50 }, "nothing is handed out")
		s.starter.Kill()
		stop()
		s.restart(t, s.starter)
	}
	testkit.Eventually(t, func() bool {
		return s.count(t, "owner <> '' AND owner <> '"+s.owner(t)+"'") == 0
	}, "what the killed starters held was not recovered")
	load.check(t)
	s.closure(t)
}

// Clean restarts lose nothing: no value stays held, and what was not handed out goes out next.
func TestCleanRestarts(t *testing.T) {
	s := newStack(t)
	load := &load{stack: s, tickets: map[string]int{}}
	for range rounds(5, 100) {
		stop := load.run(t)
		before := load.count()
		testkit.Eventually(t, func() bool { return load.count() > before+50 }, "nothing is handed out")
		require.NoError(t, s.starter.Stop(t.Context()))
		stop()
		require.NoError(t, s.starter.ExitError())
		require.Zero(t, s.count(t, "status IN (0, 5)"), "a clean stop holds nothing back")
		s.restart(t, s.starter)
	}
	load.check(t)
	s.closure(t)
}
