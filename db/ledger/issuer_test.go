package ledger_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// lapse ends a lease, as time would.
func (b bundle) lapse(t *testing.T, issuer string) {
	t.Helper()
	b.exec(t, "UPDATE t_seq_issuer SET lease_until = UTC_TIMESTAMP(6) - INTERVAL 1 SECOND WHERE id = ?", issuer)
}

func (b bundle) issuerState(t *testing.T, issuer string) (state string) {
	t.Helper()
	require.NoError(t, b.DB().QueryRowContext(t.Context(), "SELECT state FROM t_seq_issuer WHERE id = ?", issuer).Scan(&state))
	return state
}

func TestLeases(t *testing.T) {
	t.Run("are renewed while they last", func(t *testing.T) {
		b := setup(t)
		require.NoError(t, b.RenewLease(t.Context(), me, time.Hour))
		dead, err := b.DeadIssuers(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, dead)
	})
	t.Run("that are over are not renewed, and take nothing more", func(t *testing.T) {
		b := setup(t)
		block := b.allocate(t, "batch-1", 2)
		b.apply(t, sequence.OutcomeHandedBack, commands(sequence.HandBack, block, 0)...)
		b.lapse(t, me)
		require.ErrorIs(t, b.RenewLease(t.Context(), me, time.Hour), sequence.ErrLeaseOver)
		_, err := b.Allocate(t.Context(), "ORDER", me, "batch-2", 1)
		require.ErrorIs(t, err, sequence.ErrLeaseOver)
		_, err = b.Apply(t.Context(), commands(sequence.Claim, block, 0))
		require.ErrorIs(t, err, sequence.ErrLeaseOver)
		require.Equal(t, 2, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log"))
		require.Zero(t, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status IN (0, 5)"))
	})
	t.Run("of an issuer that ended are neither renewed nor recovered", func(t *testing.T) {
		b := setup(t)
		for range 2 {
			require.NoError(t, b.EndIssuer(t.Context(), me))
		}
		b.lapse(t, me)
		require.ErrorIs(t, b.RenewLease(t.Context(), me, time.Hour), sequence.ErrLeaseOver)
		dead, err := b.DeadIssuers(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, dead)
		require.Equal(t, "ENDED", b.issuerState(t, me))
	})
	t.Run("are registered once", func(t *testing.T) {
		b := setup(t)
		b.lapse(t, me)
		require.NoError(t, b.RegisterIssuer(t.Context(), me, "host-1", time.Hour))
		require.ErrorIs(t, b.RenewLease(t.Context(), me, time.Hour), sequence.ErrLeaseOver)
	})
}

func TestADeadIssuersNumbers(t *testing.T) {
	b := setup(t)
	b.allocate(t, "batch-1", 3)
	b.lapse(t, me)
	dead, err := b.DeadIssuers(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, []sequence.Issuer{{ID: me, Lease: time.Hour}}, dead)
	held, err := b.HeldBy(t.Context(), me, 2)
	require.NoError(t, err)
	require.Len(t, held, 2)
	held, err = b.HeldBy(t.Context(), me, 10)
	require.NoError(t, err)
	recovered := b.apply(t, sequence.OutcomeRecovered, commands(sequence.Recover, held, 0)...)
	require.Equal(t, "ORDER~A-000001~1", recovered[0].Ticket().String())
	require.False(t, recovered[0].Tracked)
	b.apply(t, sequence.OutcomeSuperseded, commands(sequence.Recover, held, 0)...)
	require.NoError(t, b.IssuerRecovered(t.Context(), me))
	dead, err = b.DeadIssuers(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, dead)
	require.Equal(t, "RECOVERED", b.issuerState(t, me))

	// A caller that got one just before the death can still confirm it.
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, recovered[:1], 0)...)
}

// An allocation that began while its issuer lived is seen by the recovery, and an issuer that is in
// the middle of one does not keep the others from being recovered.
func TestRecoveryWaitsForAnAllocationUnderWay(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.RegisterIssuer(t.Context(), "issuer-2", "host-2", time.Hour))
	b.lapse(t, "issuer-2")
	b.lapse(t, me)
	tx, err := b.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	var id string
	require.NoError(t, tx.QueryRow("SELECT id FROM t_seq_issuer WHERE id = ? LOCK IN SHARE MODE", me).Scan(&id)) // as Allocate does
	dead, err := b.DeadIssuers(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, []sequence.Issuer{{ID: "issuer-2", Lease: time.Hour}}, dead)

	_, err = tx.Exec("INSERT INTO t_seq_issue_log (biz_type, seq_no, value, batch_id, status, owner) VALUES ('ORDER', 'A-000001', 1, 'batch-1', 0, ?)", me)
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	require.NoError(t, b.IssuerRecovered(t.Context(), "issuer-2"))
	dead, err = b.DeadIssuers(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, []sequence.Issuer{{ID: me, Lease: time.Hour}}, dead)
	held, err := b.HeldBy(t.Context(), me, 10)
	require.NoError(t, err)
	require.Len(t, held, 1)
}

// C60: who waits for one counter holds up neither the lease nor the other biz types.
func TestAnAllocationThatWaitsForItsCursor(t *testing.T) {
	b := setup(t)
	other := order(t)
	other.Name, other.Format = "PU", must(sequence.ParseFormat("P-{seq:6}"))
	require.NoError(t, b.CreateBizType(t.Context(), other))
	b.allocate(t, "batch-1", 1)
	tx, err := b.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // the test's end
	var value int
	require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT value FROM t_seq_cursor WHERE biz_type = 'ORDER' AND period = '' FOR UPDATE").Scan(&value))
	waits := make(chan error, 1)
	testkit.Eventually(t, func() bool { // until all of it happened within one wait
		go func() {
			_, err := b.Allocate(t.Context(), "ORDER", me, "batch-2", 1)
			waits <- err
		}()
		testkit.Eventually(t, func() bool {
			return b.count(t, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT value FROM t_seq_cursor%'") > 0
		}, "nobody waits")
		_, err := b.Allocate(t.Context(), "PU", me, uuid.NewString(), 1)
		require.NoError(t, err)
		require.NoError(t, b.RenewLease(t.Context(), me, time.Hour))
		inTime := len(waits) == 0
		require.ErrorIs(t, <-waits, sequence.ErrUnavailable)
		return inTime
	}, "the others wait for the cursor too")
}

func TestTwoRecoveriesDoNoDoubleWork(t *testing.T) {
	b := setup(t)
	held := b.allocate(t, "batch-1", 100)
	recovered := make([]int, 2)
	var both sync.WaitGroup
	for i := range recovered {
		both.Go(func() {
			decisions, err := b.Apply(t.Context(), commands(sequence.Recover, held, 0))
			if err != nil {
				t.Error(err)
			}
			for _, d := range decisions {
				if d.Outcome == sequence.OutcomeRecovered {
					recovered[i]++
				}
			}
		})
	}
	both.Wait()
	require.Equal(t, 100, recovered[0]+recovered[1])
	require.Equal(t, 100, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 1 AND life = 1 AND version = 1"))
}

func TestOverdue(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "batch-1", 7)
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, issued[:1], 0)...)
	overdue, err := b.Overdue(t.Context(), sequence.Allocated, sequence.Number{}, 10)
	require.NoError(t, err)
	require.Empty(t, overdue)
	b.exec(t, "UPDATE t_seq_issue_log SET deadline = UTC_TIMESTAMP(6) - INTERVAL 10 SECOND WHERE seq_no <> 'A-000007'")

	var seen []string
	var after sequence.Number
	for page := 0; ; page++ {
		overdue, err = b.Overdue(t.Context(), sequence.Allocated, after, 2)
		require.NoError(t, err)
		if len(overdue) == 0 {
			require.Equal(t, 3, page)
			break
		}
		for _, n := range overdue {
			seen = append(seen, n.SeqNo)
		}
		after = overdue[len(overdue)-1]
	}
	require.Equal(t, []string{"A-000002", "A-000003", "A-000004", "A-000005", "A-000006"}, seen)
	overdue, err = b.Overdue(t.Context(), sequence.Abandoned, sequence.Number{}, 10)
	require.NoError(t, err)
	require.Len(t, overdue, 1)
}
