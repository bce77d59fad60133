package ledger_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

func key(name string) sequence.IdempotencyKey {
	return sequence.IdempotencyKey{BizType: "ORDER", Key: name}
}

// keyed is a call of Next under a key with count fresh numbers.
func (b bundle) keyed(t *testing.T, name string, count int) sequence.KeyedIssue {
	t.Helper()
	callID := uuid.NewString()
	return sequence.KeyedIssue{
		IdempotencyKey: key(name), CallID: callID, Content: [32]byte{1},
		Records: commands(sequence.Record, b.allocate(t, callID, count), 1),
	}
}

func TestIssueKeyed(t *testing.T) {
	t.Run("records the numbers and the key together", func(t *testing.T) {
		b := setup(t)
		issue := b.keyed(t, "k-1", 3)
		results, err := b.IssueKeyed(t.Context(), []sequence.KeyedIssue{issue})
		require.NoError(t, err)
		require.True(t, results[0].Won)
		require.Len(t, results[0].Decisions, 3)
		found, err := b.Keyed(t.Context(), key("k-1"))
		require.NoError(t, err)
		require.Equal(t, issue.CallID, found.CallID)
		require.Equal(t, issue.Content, found.Content)
		for i, n := range found.Numbers {
			require.Equal(t, issue.Records[i].Ticket, found.Tickets[i])
			require.Equal(t, sequence.Allocated, n.State)
			require.Equal(t, found.Tickets[i], n.Ticket())
		}
		require.Equal(t, 900, b.count(t, "SELECT TIMESTAMPDIFF(SECOND, issued_time, expires) FROM t_seq_idempotency"), "the confirm timeout")
	})
	t.Run("lets the first of two calls win, and abandons the numbers of the second", func(t *testing.T) {
		b := setup(t)
		first, second := b.keyed(t, "k-1", 2), b.keyed(t, "k-1", 2)
		for _, together := range [][]sequence.KeyedIssue{{first, second}} {
			results, err := b.IssueKeyed(t.Context(), together)
			require.NoError(t, err)
			require.True(t, results[0].Won)
			require.False(t, results[1].Won)
			for _, d := range results[1].Decisions {
				require.Equal(t, sequence.Abandoned, d.Number.State)
			}
		}
		third := b.keyed(t, "k-1", 1)
		results, err := b.IssueKeyed(t.Context(), []sequence.KeyedIssue{third})
		require.NoError(t, err)
		require.False(t, results[0].Won)
		found, err := b.Keyed(t.Context(), key("k-1"))
		require.NoError(t, err)
		require.Equal(t, first.CallID, found.CallID)
	})
	t.Run("may be repeated", func(t *testing.T) {
		b := setup(t)
		issue := b.keyed(t, "k-1", 2)
		for range 3 {
			results, err := b.IssueKeyed(t.Context(), []sequence.KeyedIssue{issue})
			require.NoError(t, err)
			require.True(t, results[0].Won)
			require.Equal(t, sequence.Allocated, results[0].Decisions[1].Number.State)
		}
	})
	t.Run("has as many numbers as a call may ask for, in one transaction", func(t *testing.T) {
		b := setup(t)
		issue := b.keyed(t, "k-1", sequence.MaxStep)
		results, err := b.IssueKeyed(t.Context(), []sequence.KeyedIssue{issue, b.keyed(t, "k-2", 1)})
		require.NoError(t, err)
		require.True(t, results[0].Won && results[1].Won)
		found, err := b.Keyed(t.Context(), key("k-1"))
		require.NoError(t, err)
		require.Len(t, found.Numbers, sequence.MaxStep)
		require.Equal(t, issue.Records[9_999].Ticket, found.Numbers[9_999].Ticket())
	})
	t.Run("leaves no key where its numbers were taken away, and tells nobody of a conflict", func(t *testing.T) {
		b := setup(t)
		issue := b.keyed(t, "k-1", 2)
		b.exec(t, "UPDATE t_seq_issue_log SET durable = TRUE")
		b.apply(t, sequence.OutcomeHandedBack, sequence.Command{
			Kind: sequence.Recover, Owner: me, Ticket: sequence.Ticket{BizType: "ORDER", SeqNo: issue.Records[0].Ticket.SeqNo},
		})
		results, err := b.IssueKeyed(t.Context(), []sequence.KeyedIssue{issue})
		require.NoError(t, err)
		require.False(t, results[0].Won)
		require.Equal(t, sequence.OutcomeSuperseded, results[0].Decisions[0].Outcome)
		_, err = b.Keyed(t.Context(), key("k-1"))
		require.ErrorIs(t, err, sequence.ErrNotFound)
		require.Zero(t, b.count(t, "SELECT COUNT(*) FROM t_seq_conflict"))
	})
	t.Run("keeps callers and biz types apart", func(t *testing.T) {
		b := setup(t)
		other := order(t)
		other.Name = "PU"
		require.NoError(t, b.CreateBizType(t.Context(), other))
		mine, theirs, otherType := b.keyed(t, "k-1", 1), b.keyed(t, "k-1", 1), b.keyed(t, "k-1", 1)
		theirs.Caller, otherType.BizType = "shop-2", "PU"
		results, err := b.IssueKeyed(t.Context(), []sequence.KeyedIssue{mine, theirs, otherType})
		require.NoError(t, err)
		for _, r := range results {
			require.True(t, r.Won)
		}
	})
}

// Many callers with the same few keys, in two processes at once: each key stands for one call's numbers.
func TestKeysUsedTogether(t *testing.T) {
	b := setup(t)
	other, err := ledger.Open(b.dsn)
	require.NoError(t, err)
	defer other.Close() //nolint:errcheck // the server goes with the test
	const callers, keys = 12, 5
	var mu sync.Mutex
	winners := map[string]int{}
	var all sync.WaitGroup
	for caller := range callers {
		var issues []sequence.KeyedIssue
		for k := range keys {
			issues = append(issues, b.keyed(t, fmt.Sprint("k-", (k+caller)%keys), 1)) // in an order of its own
		}
		l := []*ledger.Ledger{b.Ledger, other}[caller%2]
		all.Go(func() {
			results, err := l.IssueKeyed(t.Context(), issues)
			require.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			for i, r := range results {
				if r.Won {
					winners[issues[i].Key]++
				}
			}
		})
	}
	all.Wait()
	require.Len(t, winners, keys)
	for k, n := range winners {
		require.Equal(t, 1, n, k)
	}
	require.Equal(t, keys, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 1"))
	require.Equal(t, (callers-1)*keys, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 3"))
}

// The answer to COMMIT is lost: the call finds its own row.
func TestAKeyedIssueWhoseCommitIsUnknown(t *testing.T) {
	b := setup(t)
	_, address, _ := strings.Cut(b.dsn, "tcp(")
	address, _, _ = strings.Cut(address, ")")
	wire := testkit.Proxy(t, address)
	via, err := ledger.Open(strings.Replace(b.dsn, address, wire.Address(), 1))
	require.NoError(t, err)
	defer via.Close() //nolint:errcheck // the server goes with the test
	issue := b.keyed(t, "k-1", 2)
	require.NoError(t, via.Ping(t.Context()))
	wire.LoseRepliesTo("COMMIT") // and to READ COMMITTED, with which a new connection begins
	_, err = via.IssueKeyed(t.Context(), []sequence.KeyedIssue{issue})
	require.ErrorIs(t, err, sequence.ErrUnavailable)
	require.Positive(t, wire.Lost())
	wire.LoseRepliesTo("")
	results, err := via.IssueKeyed(t.Context(), []sequence.KeyedIssue{issue})
	require.NoError(t, err)
	require.True(t, results[0].Won)
	require.Equal(t, 1, b.count(t, "SELECT COUNT(*) FROM t_seq_idempotency"))
	require.Equal(t, 2, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 1"))
}

func TestKeysExpire(t *testing.T) {
	b := setup(t)
	issue := b.keyed(t, "k-1", 1)
	_, err := b.IssueKeyed(t.Context(), []sequence.KeyedIssue{issue, b.keyed(t, "k-2", 1)})
	require.NoError(t, err)
	b.exec(t, "UPDATE t_seq_idempotency SET expires = UTC_TIMESTAMP(6)")
	_, err = b.Keyed(t.Context(), key("k-1"))
	require.ErrorIs(t, err, sequence.ErrNotFound)

	again := b.keyed(t, "k-1", 1)
	results, err := b.IssueKeyed(t.Context(), []sequence.KeyedIssue{again})
	require.NoError(t, err)
	require.True(t, results[0].Won, "an expired key is free, purged or not")
	n, err := b.PurgeKeys(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	found, err := b.Keyed(t.Context(), key("k-1"))
	require.NoError(t, err)
	require.Equal(t, again.CallID, found.CallID)
}
