package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// A running system takes the numbers of another one over: who holds one confirms it, what was given up there is
// issued again here, and new numbers begin above.
func TestASystemIsTakenOver(t *testing.T) {
	s := newStack(t)
	s.bizType(t, "OLD", "O-{seq:6}", time.Minute, safetyWindow)
	text := "seq_no,state,biz_key\n"
	for v := 1; v <= 600; v++ {
		switch v {
		case 100:
			text += "O-000100,ALLOCATED,cart-100\n"
		case 200:
			text += "O-000200,ABANDONED,\n"
		case 300: // a hole
		default:
			text += fmt.Sprintf("O-%06d,CONFIRMED,cart-%d\n", v, v)
		}
	}
	path := filepath.Join(t.TempDir(), "old.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	command := exec.CommandContext(t.Context(), filepath.Join(s.dir, "lacuna"), "import", "OLD", "--csv", path, "--holes", "pool")
	command.Env = append(command.Environ(), "LACUNA_MYSQL_DSN="+s.dsn)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "every value is accounted for")

	require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", "OLD~O-000100~1"))
	missing := map[string]bool{"OLD~O-000200~2": true, "OLD~O-000300~1": true}
	testkit.Eventually(t, func() bool {
		ticket, seqNo := s.next(t, "OLD")
		require.True(t, missing[ticket] || strings.HasSuffix(ticket, "~1") && seqNo > "O-000600", "%s was issued", ticket)
		require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", ticket))
		delete(missing, ticket)
		return len(missing) == 0
	}, "%v were not issued", missing)
	require.Equal(t, sequence.Confirmed, s.row(t, "OLD", "O-000001").State)
	s.closure(t)
}
