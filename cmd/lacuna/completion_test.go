package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func csvLines(t *testing.T, text string) [][]string {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	return lines
}

func completion(t *testing.T, shell string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"completion", shell}, &out))
	return out.String()
}

// complete asks bash what may follow these words.
func complete(t *testing.T, words ...string) []string {
	t.Helper()
	script := completion(t, "bash") + fmt.Sprintf("COMP_WORDS=(lacuna %s \"%s\")\nCOMP_CWORD=%d\n_lacuna\necho \"${COMPREPLY[@]}\"\n",
		strings.Join(words[:len(words)-1], " "), words[len(words)-1], len(words))
	out, err := exec.CommandContext(t.Context(), "bash", "-c", script).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.Fields(string(out))
}

func TestBashCompletesCommandsAndFlags(t *testing.T) {
	require.ElementsMatch(t, []string{"dead", "doctor"}, complete(t, "d"))
	require.Equal(t, []string{"requeue"}, complete(t, "dead", "r"))
	require.Equal(t, []string{"--cause"}, complete(t, "dead", "list", "--c"))
	require.Equal(t, []string{"bash"}, complete(t, "completion", "b"))
}

func TestOtherShellsKnowTheSame(t *testing.T) {
	require.Contains(t, completion(t, "zsh"), "bashcompinit")
	fish := completion(t, "fish")
	require.Contains(t, fish, "complete -c lacuna -f -n \"__lacuna_at ''\" -a doctor -d 'Check every server")
	require.Contains(t, fish, "-n \"__lacuna_at ' dead requeue'\" -l rate")
}
