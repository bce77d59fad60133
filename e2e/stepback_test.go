package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/devenv"
	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// books is what the callers of a story know: whatever the ledger forgets, they do not.
type books struct {
	*stack
	tickets   map[string]bool   // every one that was given
	confirmed map[string]string // the ticket by which a seq no is in use for good
	newest    map[string]string // the ticket that was given last of a seq no
	open      []string          // tickets that their holders have not settled
}

// held are the open tickets whose numbers nobody else was given since: the silence of a holder gives a number up, and it
// goes on to another. The newest come first.
func (b *books) held(t *testing.T) (tickets []string) {
	t.Helper()
	for _, ticket := range slices.Backward(b.open) {
		if b.newest[mustTicket(t, ticket).SeqNo] == ticket {
			tickets = append(tickets, ticket)
		}
	}
	return tickets
}

// take asks for numbers once, and holds what comes against everything that was given before; it gives the status.
func (b *books) take(t *testing.T, count int) (tickets []string, status int, answer map[string]any) {
	t.Helper()
	status, answer = b.call(t, "Next", fmt.Sprintf(`{"bizType":"DEMO","count":%d}`, count))
	if status != http.StatusOK {
		return nil, status, answer
	}
	for _, n := range answer["numbers"].([]any) {
		ticket, seqNo := n.(map[string]any)["ticket"].(string), n.(map[string]any)["seqNo"].(string)
		require.False(t, b.tickets[ticket], "%s was given twice", ticket)
		require.Empty(t, b.confirmed[seqNo], "it is in use, and %s was given to another", ticket)
		b.tickets[ticket] = true
		b.newest[seqNo] = ticket
		tickets = append(tickets, ticket)
	}
	return tickets, status, answer
}

// trade takes so many numbers, confirms most, gives some up, and leaves the rest open.
func (b *books) trade(t *testing.T, count int) {
	t.Helper()
	for taken := 0; taken < count; {
		tickets, status, answer := b.take(t, min(100, count-taken))
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable && answer["details"] == nil {
			continue // memory is being filled
		}
		require.Equal(t, http.StatusOK, status, "%v", answer)
		taken += len(tickets)
		for i, ticket := range tickets {
			switch i % 10 {
			case 0:
				b.open = append(b.open, ticket)
			case 1, 2:
				require.Equal(t, "OUTCOME_ABANDONED", b.settle(t, "Abandon", ticket))
			default:
				require.Equal(t, "OUTCOME_CONFIRMED", b.settle(t, "Confirm", ticket))
				b.confirmed[mustTicket(t, ticket).SeqNo] = ticket
			}
		}
	}
}

// backup copies the data of a server that does not run; restore puts it back.
func backup(t *testing.T, data string) (restore func()) {
	t.Helper()
	kept := filepath.Join(t.TempDir(), "backup")
	copyTree := func(from, to string) {
		require.NoError(t, os.RemoveAll(to))
		out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	copyTree(data, kept)
	return func() { copyTree(kept, data) }
}

// A backup is restored that was taken before thousands of numbers were issued, confirmed, given up and issued again.
// What the ledger says of them is old; what their holders say is true. No number is given twice, and the audit
// finds each.
func TestALedgerThatSteppedBack(t *testing.T) {
	for name, everything := range map[string]bool{"under running processes": false, "with everything else started again": true} {
		t.Run(name, func(t *testing.T) {
			mariadb := testkit.OwnMariaDB(t)
			s := newStackOnBoth(t, mariadb.DSN("lacuna"), testkit.Redis(t))
			var data string
			require.NoError(t, s.ledger.DB().QueryRowContext(t.Context(), "SELECT @@datadir").Scan(&data))
			b := &books{stack: s, tickets: map[string]bool{}, confirmed: map[string]string{}, newest: map[string]string{}}
			b.trade(t, 200)
			restore := b.restored(t, mariadb, func() func() { return backup(t, filepath.Clean(data)) })
			b.trade(t, rounds(1_000, 10_000))
			b.restored(t, mariadb, func() func() { restore(); return nil })
			if everything {
				s.worker.Kill()
				s.starter.Kill()
				s.restart(t, s.starter)
				s.restart(t, s.worker)
			}

			// What was in memory goes out, and then nothing does.
			var answer map[string]any
			testkit.Eventually(t, func() bool {
				var status int
				_, status, answer = b.take(t, 1)
				return status == http.StatusServiceUnavailable && stoppedBy(answer) == "LEDGER_STEPPED_BACK"
			}, "it is issued on: %v", &answer)
			require.Contains(t, answer["message"], "lacuna ledger raise")
			out, code := s.operator(t, "ledger", "check")
			require.Equal(t, 2, code, out)
			require.Contains(t, out, "STEPPED BACK")

			out, code = s.operator(t, "ledger", "raise", "--all", "--reason", "the backup of last night", "--yes")
			require.Equal(t, 0, code, out)
			require.Contains(t, out, "DEMO is issued again")
			out, code = s.operator(t, "ledger", "check")
			require.Equal(t, 0, code, out)

			// Whoever did not hear that it is done, and does it again, does no harm.
			out, code = s.operator(t, "ledger", "raise", "--biz-type", "DEMO", "--reason", "the backup of last night", "--yes")
			require.Equal(t, 1, code, out)
			require.Contains(t, out, "DEMO has not stepped back as far as anybody knows, or was raised before, and is issued")

			testkit.Eventually(t, func() bool {
				tickets, _, _ := b.take(t, 1)
				return len(tickets) == 1
			}, "nothing is issued after the raise")

			// Holders of numbers that the ledger never knew say so, and are believed.
			held := b.held(t)
			for _, ticket := range held[:10] {
				require.Equal(t, "OUTCOME_RESCUED", s.settle(t, "Confirm", ticket), ticket)
				b.confirmed[mustTicket(t, ticket).SeqNo] = ticket
			}
			// Whatever a person sends back comes out under a life that nobody has had.
			out, code = s.operator(t, "dead", "list", "--cause", "STEPPED_BACK", "--output", "csv")
			require.Equal(t, 0, code, out)
			free := mustTicket(t, held[10])
			row := s.row(t, free.BizType, free.SeqNo)
			out, code = s.operator(t, "dead", "requeue", row.Ticket().String(), "--reason", "nobody has it", "--yes")
			require.Equal(t, 0, code, out)
			testkit.Within(t, 3*time.Minute, func() bool {
				b.trade(t, 10)
				return s.row(t, free.BizType, free.SeqNo).Life > row.Life
			}, "what was sent back is not issued again")
			out, code = s.operator(t, "audit", "DEMO")
			require.Equal(t, 0, code, out)
			s.closure(t)
		})
	}
}

// restored does something to the data of a killed server, and waits until the system goes on.
func (b *books) restored(t *testing.T, mariadb *devenv.MariaDB, do func() func()) (after func()) {
	t.Helper()
	mariadb.Kill()
	after = do()
	require.NoError(t, mariadb.Restart(t.Context()))
	return after
}

// stoppedBy is the reason in an error's details.
func stoppedBy(answer map[string]any) string {
	details, _ := answer["details"].([]any)
	for _, d := range details {
		debug, _ := d.(map[string]any)["debug"].(map[string]any)
		if reason, ok := debug["reason"].(string); ok {
			return reason
		}
	}
	return ""
}

// Everything is started again after a restore, and Redis, which alone knows of it, comes last: no starter goes by the
// ledger before.
func TestAStarterWaitsForWhatRedisKnows(t *testing.T) {
	redis := testkit.OwnRedis(t)
	s := newStackOnBoth(t, testkit.MariaDB(t), redis.URL(0))
	s.next(t, "DEMO")
	testkit.Eventually(t, func() bool {
		_, marks, err := s.pool.Recall(t.Context(), "DEMO")
		return err == nil && len(marks) == 1
	}, "Redis is not told")
	s.worker.Kill()
	s.starter.Kill()
	redis.Kill()
	for _, statement := range []string{"DELETE FROM t_seq_issue_log", "UPDATE t_seq_cursor SET value = 0", "UPDATE t_seq_tide SET height = 1"} {
		_, err := s.ledger.DB().ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	s.starter.start(t)
	testkit.Eventually(t, func() bool { return says(t, s.starter, "waiting for Redis, which knows") }, "it does not say what it waits for")
	require.NoError(t, redis.Restart(t.Context()))
	s.ready(t, s.starter)
	testkit.Eventually(t, func() bool {
		status, answer := s.call(t, "Next", `{"bizType":"DEMO"}`)
		require.NotEqual(t, http.StatusOK, status, "a second holder: %v", answer)
		return stoppedBy(answer) == "LEDGER_STEPPED_BACK"
	}, "it does not see the step back")
}
