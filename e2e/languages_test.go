package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/client/lacunatest"
	"github.com/lacuna-seq/lacuna/sequence"
)

// languages are the programs of docs/languages.md, and what each of them ends with.
var languages = []struct {
	fence, file string
	needs       []string // programs; the first runs the file
	debian      string   // the package that has the last
	says        []string
}{
	{"sh", "orders.sh", []string{"bash", "curl"}, "curl", []string{"OUTCOME_CONFIRMED", "OUTCOME_ABANDONED"}},
	{"python", "orders.py", []string{"python3"}, "python3-minimal", []string{"confirmed L-000001", "abandoned"}},
	{"java", "Orders.java", []string{"java"}, "openjdk-17-jdk-headless", []string{"OUTCOME_CONFIRMED", "OUTCOME_ABANDONED", "refused: 400"}},
}

// The programs of the document run as they stand there, against the real API.
func TestOtherLanguages(t *testing.T) {
	s := newStack(t)
	for _, language := range languages {
		t.Run(language.fence, func(t *testing.T) {
			bizType := "LANG_" + strings.ToUpper(language.fence)
			s.bizType(t, bizType, "L-{seq:6}", time.Minute, time.Minute)
			program := fenced(t, "../docs/languages.md", language.fence)
			require.Contains(t, program, "ORDER")
			program = strings.ReplaceAll(program, "ORDER", bizType)
			out := runProgram(t, language.needs, language.debian, language.file, program, s.starter.url, s.token)
			for _, want := range language.says {
				require.Contains(t, out, want)
			}
			s.awaitState(t, bizType, "L-000001", sequence.Confirmed)
			require.Equal(t, "cart-1", s.row(t, bizType, "L-000001").BizKey)
			s.awaitState(t, bizType, "L-000002", sequence.Abandoned)
		})
	}
}

// What is busy, away or not answered is repeated, and takes no number more.
func TestOtherLanguagesRepeat(t *testing.T) {
	for _, language := range languages {
		t.Run(language.fence, func(t *testing.T) {
			s := lacunatest.New(t)
			s.BizType("ORDER", "L-{seq:6}")
			s.Fail(1, &sequence.BusyError{What: "the queue is full", RetryAfter: 10 * time.Millisecond})
			s.Fail(1, sequence.ErrUnavailable)
			s.Fail(1, &sequence.UnavailableError{What: "the ledger is away"})
			s.LoseAnswers(1)
			out := runProgram(t, language.needs, language.debian, language.file, fenced(t, "../docs/languages.md", language.fence), s.URL, "lacuna_anybody_0")
			for _, want := range language.says {
				require.Contains(t, out, want)
			}
			require.Equal(t, []string{"L-000001"}, s.Confirmed("ORDER"))
			require.Equal(t, []string{"L-000002"}, s.Abandoned("ORDER"))
		})
	}
}

// runProgram writes a program down, runs it and gives what it printed.
func runProgram(t *testing.T, needs []string, debian, file, program, api, token string) string {
	t.Helper()
	for _, name := range needs {
		install(t, name, debian)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(program), 0o600))
	header := filepath.Join(dir, "header")
	require.NoError(t, os.WriteFile(header, []byte("Authorization: Bearer "+token), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, needs[0], file)
	run.Dir = dir
	run.Env = append(os.Environ(), "LACUNA_API="+api, "LACUNA_TOKEN="+token, "LACUNA_HEADER="+header)
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// install sees to it that a program is there; where it may, from Debian's package.
func install(t *testing.T, name, debian string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		t.Fatalf("%s is missing: install it, e.g. Debian's package %s", name, debian)
	}
	for _, args := range [][]string{{"update", "-qq"}, {"install", "-qq", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300", debian}} {
		out, err := exec.CommandContext(t.Context(), "apt-get", args...).CombinedOutput()
		require.NoError(t, err, "apt-get %v: %s", args, out)
	}
}

// fenced gives the first block of code of that language in a document.
func fenced(t *testing.T, path, language string) string {
	t.Helper()
	blocks := allFenced(t, path, language)
	require.NotEmpty(t, blocks, "%s has no block of %s", path, language)
	return blocks[0]
}

func allFenced(t *testing.T, path, language string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	rest := string(text)
	for {
		_, after, found := strings.Cut(rest, fmt.Sprintf("\n```%s\n", language))
		if !found {
			return blocks
		}
		block, next, closed := strings.Cut(after, "\n```\n")
		require.True(t, closed, "%s: a block of %s is not closed", path, language)
		blocks, rest = append(blocks, block+"\n"), next
	}
}
