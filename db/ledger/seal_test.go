package ledger_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// past makes numbers of INV as if they had been allocated so many days ago: some confirmed, some retired, in
// life 1. The last, if open, is with its caller.
func (b bundle) past(t *testing.T, days, confirmed, retired int, open bool) []sequence.Number {
	t.Helper()
	count := confirmed + retired
	if open {
		count++
	}
	block, err := b.Allocate(t.Context(), "INV", me, fmt.Sprintf("batch-%d", days), count)
	require.NoError(t, err)
	numbers := b.apply(t, sequence.OutcomeRecorded, commands(sequence.Record, block, 1)...)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, numbers[:confirmed], 0)...)
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, numbers[confirmed:confirmed+retired], 0)...)
	now, err := b.Now(t.Context())
	require.NoError(t, err)
	today, period := now.Format("20060102"), now.AddDate(0, 0, -days).Format("20060102")
	b.exec(t, `UPDATE t_seq_cursor SET period = ? WHERE biz_type = 'INV' AND period = ?`, period, today)
	b.Forget()
	b.exec(t, `UPDATE t_seq_issue_log SET period = ?, seq_no = CONCAT(?, '-', LPAD(value, 2, '0')) WHERE biz_type = 'INV' AND period = ?`, period, period, today)
	b.exec(t, `DELETE FROM t_seq_event`) // of other seq nos
	for i := range numbers {
		numbers[i].Period, numbers[i].SeqNo = period, fmt.Sprintf("%s-%02d", period, numbers[i].Value)
	}
	b.passWindow(t)
	b.apply(t, sequence.OutcomeRetired, commands(sequence.Replay, numbers[confirmed:confirmed+retired], 0)...)
	return numbers
}

// seal seals what can be sealed, and gives how many blocks that were.
func (b bundle) seal(t *testing.T) (sealed int) {
	t.Helper()
	_, err := b.OpenBlocks(t.Context(), 1_000)
	require.NoError(t, err)
	b.exec(t, `UPDATE t_seq_seal_open SET look_time = UTC_TIMESTAMP(6)`)
	due, _, err := b.DueBlocks(t.Context(), 1_000)
	require.NoError(t, err)
	for _, block := range due {
		ok, err := b.SealNow(t.Context(), block)
		require.NoError(t, err)
		if ok {
			sealed++
		}
	}
	return sealed
}

// verify verifies the chain of a biz type, expects no fault, and gives what it consists of.
func (b bundle) verify(t *testing.T, bizType string) ledger.ChainReport {
	t.Helper()
	v, err := b.VerifySeals(t.Context(), bizType, ledger.Anchor{})
	require.NoError(t, err)
	require.Empty(t, v.Faults)
	require.Len(t, v.Chains, 1)
	require.WithinDuration(t, time.Now(), v.Time, time.Minute)
	return v.Chains[0]
}

// clean audits everything.
func (b bundle) clean(t *testing.T) ledger.Audit {
	t.Helper()
	a := b.audit(t, ledger.AuditFilter{})
	require.Empty(t, a.Findings)
	return a
}

func TestABlockIsSealedWhenItsNumbersAreFinal(t *testing.T) {
	b := setup(t)
	b.daily(t)
	numbers := b.past(t, 3, 4, 2, true)
	require.Zero(t, b.seal(t), "one is with its caller")
	require.Equal(t, 1, b.count(t, `SELECT COUNT(*) FROM t_seq_seal_open WHERE waits_for = ? AND look_time > UTC_TIMESTAMP(6)`, numbers[6].Value))
	due, looked, err := b.DueBlocks(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, due)
	require.Zero(t, looked, "it is put off")
	b.exec(t, `UPDATE t_seq_seal_open SET look_time = UTC_TIMESTAMP(6)`)
	due, looked, err = b.DueBlocks(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, due, "the number that it waits for is the same")
	require.Equal(t, 1, looked)

	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, numbers[6:], 0)...)
	require.Equal(t, 1, b.seal(t))
	require.Zero(t, b.seal(t))
	require.Equal(t, 1, b.count(t, `SELECT COUNT(*) FROM t_seq_seal WHERE biz_type = 'INV' AND number = 1 AND kind = 'SEAL' AND lo = 5 AND hi = 11
		AND confirmed = 5 AND retired = 2 AND skipped = 0 AND lives = 7`))
	chain := b.verify(t, "INV")
	require.Equal(t, ledger.ChainReport{BizType: "INV", Seals: 1, Values: 7, Number: 1, Hash: chain.Hash, SealedTime: chain.SealedTime}, chain)
	b.clean(t)
}

func TestAPeriodThatIsHardlyOverIsNotSealed(t *testing.T) {
	b := setup(t)
	b.daily(t)
	b.past(t, 3, 4, 0, false)
	block, err := b.Allocate(t.Context(), "INV", me, "batch-now", 4)
	require.NoError(t, err)
	numbers := b.apply(t, sequence.OutcomeRecorded, commands(sequence.Record, block, 1)...)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, numbers, 0)...)
	require.Equal(t, 1, b.seal(t), "that of today will go on")
}

// confirmAll says that all numbers of ORDER are in use, but for those of the given values.
func (b bundle) confirmAll(t *testing.T) {
	t.Helper()
	b.exec(t, `UPDATE t_seq_issue_log SET status = 2, life = 1, owner = '', durable = FALSE, issued_time = UTC_TIMESTAMP(6), confirmed_time = UTC_TIMESTAMP(6)
		WHERE biz_type = 'ORDER' AND status = 0`)
}

func TestBlocksAreSealedInAnyOrder(t *testing.T) {
	b := setup(t)
	b.allocate(t, "batch-1", 10_000)
	b.confirmAll(t)
	b.exec(t, `UPDATE t_seq_issue_log SET status = 1, confirmed_time = NULL, deadline = UTC_TIMESTAMP(6) WHERE value = 7000`)
	b.allocate(t, "batch-2", 10_000)
	b.allocate(t, "batch-3", 9_999)
	b.confirmAll(t)
	begun := time.Now()
	require.Equal(t, 1, b.seal(t), "the first waits for one number, the third is not allocated to its end")
	t.Logf("a block of 10,000 was sealed after %s", time.Since(begun))
	require.Equal(t, 1, b.count(t, `SELECT COUNT(*) FROM t_seq_seal WHERE number = 1 AND lo = 10001 AND hi = 20000 AND confirmed = 10000`))
	b.exec(t, `UPDATE t_seq_issue_log SET status = 2, confirmed_time = UTC_TIMESTAMP(6), deadline = NULL WHERE value = 7000`)
	b.allocate(t, "batch-4", 1)
	b.confirmAll(t)
	require.Equal(t, 2, b.seal(t))
	require.Equal(t, int64(30_000), b.verify(t, "ORDER").Values)
}

func TestASkipIsPartOfABlock(t *testing.T) {
	b := setup(t)
	b.allocate(t, "batch-1", 100)
	b.exec(t, `INSERT INTO t_seq_skip (biz_type, period, lo, hi, reason, declared_time) VALUES ('ORDER', '', 101, 500000, 'for a test', UTC_TIMESTAMP(6))`)
	b.exec(t, `UPDATE t_seq_cursor SET value = 500000`)
	b.allocate(t, "batch-2", 50)
	b.exec(t, `INSERT INTO t_seq_skip (biz_type, period, lo, hi, reason, declared_time) VALUES ('ORDER', '', 500051, 500060, 'for a test', UTC_TIMESTAMP(6))`)
	b.exec(t, `UPDATE t_seq_cursor SET value = 500060`)
	b.allocate(t, "batch-3", 9_940)
	b.confirmAll(t)
	require.Equal(t, 2, b.seal(t))
	require.Equal(t, 1, b.count(t, `SELECT COUNT(*) FROM t_seq_seal WHERE lo = 1 AND hi = 500000 AND confirmed = 100 AND skipped = 499900`))
	require.Equal(t, 1, b.count(t, `SELECT COUNT(*) FROM t_seq_seal WHERE lo = 500001 AND hi = 510000 AND confirmed = 9990 AND skipped = 10`))
	b.verify(t, "ORDER")
	b.exec(t, `DELETE FROM t_seq_skip WHERE lo = 500051`)
	v, err := b.VerifySeals(t.Context(), "ORDER", ledger.Anchor{})
	require.NoError(t, err)
	require.Len(t, v.Faults, 1)
	require.Equal(t, ledger.SealFaultNumbers, v.Faults[0].Kind)
}

func TestABlockWithAHoleIsNotSealed(t *testing.T) {
	b := setup(t)
	b.daily(t)
	for i, damage := range []string{
		`DELETE FROM t_seq_issue_log WHERE value = 5`, `DELETE FROM t_seq_issue_log WHERE value = 7`, `DELETE FROM t_seq_issue_log WHERE value = 9`,
		`INSERT INTO t_seq_skip (biz_type, period, lo, hi, reason, declared_time) SELECT biz_type, period, 7, 7, '', UTC_TIMESTAMP(6) FROM t_seq_cursor LIMIT 1`,
		`INSERT INTO t_seq_skip (biz_type, period, lo, hi, reason, declared_time) SELECT biz_type, period, 9, 20, '', UTC_TIMESTAMP(6) FROM t_seq_cursor LIMIT 1`,
	} {
		b.past(t, 3+i, 5, 0, false)
		b.exec(t, damage)
		require.Zero(t, b.seal(t), damage)
		b.exec(t, `DELETE FROM t_seq_skip`)
		b.exec(t, `DELETE FROM t_seq_issue_log`)
		b.exec(t, `DELETE FROM t_seq_cursor`)
		b.exec(t, `DELETE FROM t_seq_seal_open`)
	}
}

func TestManySealersSealEachBlockOnce(t *testing.T) {
	b := setup(t)
	b.daily(t)
	const blocks = 20
	for i := range blocks {
		b.past(t, 3+i, 3, 1, false)
	}
	var opened, sealed atomic.Int32
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			n, err := b.OpenBlocks(t.Context(), 1_000)
			require.NoError(t, err)
			opened.Add(int32(n)) //nolint:gosec // a few
			for {
				due, _, err := b.DueBlocks(t.Context(), 1_000)
				require.NoError(t, err)
				if len(due) == 0 {
					return
				}
				for _, block := range due {
					ok, err := b.SealNow(t.Context(), block)
					require.NoError(t, err)
					if ok {
						sealed.Add(1)
					}
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, int32(blocks), opened.Load())
	require.Equal(t, int32(blocks), sealed.Load())
	require.Equal(t, int64(blocks), b.verify(t, "INV").Seals)
	b.clean(t)
}

func TestALateConfirmAmendsTheChain(t *testing.T) {
	b := setup(t)
	b.daily(t)
	numbers := b.past(t, 3, 2, 3, false)
	b.apply(t, sequence.OutcomeRescued, commands(sequence.Confirm, numbers[2:3], 0)...)
	require.Equal(t, 1, b.seal(t))
	before := b.verify(t, "INV")
	require.Zero(t, before.Amendments, "it came before the seal")

	c := commands(sequence.Confirm, numbers[3:4], 0)[0]
	c.BizKey = "order|4711"
	b.apply(t, sequence.OutcomeRescued, c)
	b.apply(t, sequence.OutcomeAlreadyConfirmed, c)
	b.apply(t, sequence.OutcomeAlreadyAbandoned, commands(sequence.Abandon, numbers[4:], 0)...)
	after := b.verify(t, "INV")
	require.Equal(t, int64(1), after.Amendments)
	require.Equal(t, int64(2), after.Number)
	require.Equal(t, 1, b.count(t, `SELECT COUNT(*) FROM t_seq_seal WHERE number = 2 AND kind = 'AMENDMENT' AND period = ? AND lo = 8 AND hi = 8 AND seq_no = ? AND life = 1
		AND biz_key = 'order|4711' AND previous_hash = ?`, numbers[3].Period, numbers[3].SeqNo, before.Hash))
	b.clean(t)
}

// Whichever comes first, the seal shows the number as it was or an amendment follows.
func TestALateConfirmRacesTheSeal(t *testing.T) {
	b := setup(t)
	b.daily(t)
	const rounds = 40
	var sealedFirst int
	for i := range rounds {
		numbers := b.past(t, 3+i, 1, 4, false)
		_, err := b.OpenBlocks(t.Context(), 10)
		require.NoError(t, err)
		due, _, err := b.DueBlocks(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, due, 1)
		start := make(chan struct{})
		var both sync.WaitGroup
		both.Go(func() {
			<-start
			sealed, err := b.SealNow(t.Context(), due[0])
			require.NoError(t, err)
			require.True(t, sealed)
		})
		for k, c := range commands(sequence.Confirm, numbers[1:], 0) {
			both.Go(func() {
				<-start
				for range (3*i + 4*k) % 14 { // the seal takes some round trips, too
					require.NoError(t, b.Ping(t.Context()))
				}
				b.apply(t, sequence.OutcomeRescued, c)
			})
		}
		close(start)
		both.Wait()
		amended := b.count(t, `SELECT COUNT(*) FROM t_seq_seal WHERE period = ? AND kind = 'AMENDMENT'`, numbers[0].Period)
		require.Equal(t, amended, b.count(t, `SELECT retired FROM t_seq_seal WHERE period = ? AND kind = 'SEAL'`, numbers[0].Period))
		sealedFirst += amended
	}
	t.Logf("the seal came first for %d of %d numbers", sealedFirst, 4*rounds)
	chain := b.verify(t, "INV")
	require.Equal(t, int64(rounds), chain.Seals)
	require.Equal(t, int64(sealedFirst), chain.Amendments)
	require.Equal(t, 5*rounds, b.count(t, `SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 2`))
	b.clean(t)
}

func TestTamperingShows(t *testing.T) {
	// The first block, its amendment, the second and the third block: entries 1 to 4.
	const lastSeal = `DELETE FROM t_seq_seal WHERE number = 4`
	const headTo3 = `UPDATE t_seq_seal_head SET number = 3, hash = (SELECT hash FROM t_seq_seal WHERE number = 3)`
	type fault struct {
		kind   ledger.SealFaultKind
		number int64
	}
	for name, tt := range map[string]struct {
		damage []string
		want   []fault
	}{
		"a state":                 {[]string{`UPDATE t_seq_issue_log SET status = 2, confirmed_time = UTC_TIMESTAMP(6) WHERE value = 6 AND period = @second`}, []fault{{ledger.SealFaultNumbers, 3}}},
		"a state that is open":    {[]string{`UPDATE t_seq_issue_log SET status = 4, deadline = UTC_TIMESTAMP(6) WHERE value = 6 AND period = @second`}, []fault{{ledger.SealFaultNumbers, 3}}},
		"two states exchanged":    {[]string{`UPDATE t_seq_issue_log SET status = 9 - status, confirmed_time = IF(status = 7, NULL, UTC_TIMESTAMP(6)) WHERE value IN (5, 6) AND period = @second`}, []fault{{ledger.SealFaultNumbers, 3}}},
		"a life":                  {[]string{`UPDATE t_seq_issue_log SET life = 2 WHERE value = 5 AND period = @second`}, []fault{{ledger.SealFaultNumbers, 3}}},
		"a seq no":                {[]string{`UPDATE t_seq_issue_log SET seq_no = 'X' WHERE value = 5 AND period = @second`}, []fault{{ledger.SealFaultNumbers, 3}}},
		"a row deleted":           {[]string{`DELETE FROM t_seq_issue_log WHERE value = 5 AND period = @second`}, []fault{{ledger.SealFaultNumbers, 3}}},
		"the last row deleted":    {[]string{`DELETE FROM t_seq_issue_log WHERE value = 7 AND period = @second`}, []fault{{ledger.SealFaultNumbers, 3}}},
		"a count of a seal":       {[]string{`UPDATE t_seq_seal SET confirmed = 3 WHERE number = 3`}, []fault{{ledger.SealFaultEdited, 3}}},
		"the hash of the numbers": {[]string{`UPDATE t_seq_seal SET content_hash = REPEAT('a', 64) WHERE number = 3`}, []fault{{ledger.SealFaultEdited, 3}, {ledger.SealFaultNumbers, 3}}},
		"the time of a seal":      {[]string{`UPDATE t_seq_seal SET sealed_time = sealed_time - INTERVAL 1 MICROSECOND WHERE number = 3`}, []fault{{ledger.SealFaultEdited, 3}}},
		"the hash of a seal":      {[]string{`UPDATE t_seq_seal SET hash = REPEAT('a', 64) WHERE number = 3`}, []fault{{ledger.SealFaultEdited, 3}, {ledger.SealFaultLink, 4}}},
		"the hash of the last":    {[]string{`UPDATE t_seq_seal SET hash = REPEAT('a', 64) WHERE number = 4`}, []fault{{ledger.SealFaultEdited, 4}, {ledger.SealFaultEnd, 4}}},
		"a kind":                  {[]string{`UPDATE t_seq_seal SET kind = 'NOTE' WHERE number = 3`}, []fault{{ledger.SealFaultEdited, 3}, {ledger.SealFaultEdited, 3}, {ledger.SealFaultCover, 0}}},
		"a seal in the middle":    {[]string{`DELETE FROM t_seq_seal WHERE number = 3`}, []fault{{ledger.SealFaultMissing, 3}, {ledger.SealFaultCover, 0}}},
		"the first seal":          {[]string{`DELETE FROM t_seq_seal WHERE number = 1`}, []fault{{ledger.SealFaultMissing, 1}, {ledger.SealFaultAmendment, 2}, {ledger.SealFaultCover, 0}}},
		"all seals":               {[]string{`DELETE FROM t_seq_seal`}, []fault{{ledger.SealFaultEnd, 4}, {ledger.SealFaultCover, 0}, {ledger.SealFaultCover, 0}, {ledger.SealFaultCover, 0}}},
		"the end":                 {[]string{lastSeal}, []fault{{ledger.SealFaultEnd, 4}, {ledger.SealFaultCover, 0}}},
		"the end, and its mark":   {[]string{lastSeal, headTo3}, []fault{{ledger.SealFaultCover, 0}}},
		"the end, and what says that there was a block": {[]string{lastSeal, headTo3, `DELETE FROM t_seq_seal_frontier WHERE period = @third`,
			`UPDATE t_seq_issue_log SET life = 9 WHERE period = @third`}, nil}, // all that is left is what was kept elsewhere
		"the mark of the end":      {[]string{`UPDATE t_seq_seal_head SET number = 3`}, []fault{{ledger.SealFaultEnd, 4}}},
		"an amendment":             {[]string{`DELETE FROM t_seq_seal WHERE number = 2`}, []fault{{ledger.SealFaultNumbers, 1}, {ledger.SealFaultMissing, 2}}},
		"what an amendment is for": {[]string{`UPDATE t_seq_seal SET biz_key = 'mine' WHERE number = 2`}, []fault{{ledger.SealFaultEdited, 2}}},
		"an amended number":        {[]string{`UPDATE t_seq_issue_log SET status = 7, confirmed_time = NULL WHERE value = 6 AND period = @first`}, []fault{{ledger.SealFaultAmendment, 2}}},
		"the life of one":          {[]string{`UPDATE t_seq_issue_log SET life = 2 WHERE value = 6 AND period = @first`}, []fault{{ledger.SealFaultAmendment, 2}}},
		"a frontier":               {[]string{`DELETE FROM t_seq_seal_frontier WHERE period = @second`}, []fault{{ledger.SealFaultCover, 0}}},
		"a frontier set back":      {[]string{`UPDATE t_seq_seal_frontier SET next_lo = 6 WHERE period = @second`}, []fault{{ledger.SealFaultCover, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			b.daily(t)
			var periods []string
			for i := range 3 {
				numbers := b.past(t, 9-i, 1, 2, false)
				periods = append(periods, "'"+numbers[0].Period+"'")
				require.Equal(t, 1, b.seal(t))
				if i == 0 {
					b.apply(t, sequence.OutcomeRescued, commands(sequence.Confirm, numbers[1:2], 0)...)
				}
			}
			chain := b.verify(t, "INV")
			for _, damage := range tt.damage {
				b.exec(t, strings.NewReplacer("@first", periods[0], "@second", periods[1], "@third", periods[2]).Replace(damage))
			}
			v, err := b.VerifySeals(t.Context(), "", ledger.Anchor{})
			require.NoError(t, err)
			var found []fault
			for _, f := range v.Faults {
				require.Equal(t, "INV", f.BizType)
				require.NotEqual(t, f.Expected, f.Found)
				require.NotEmpty(t, f.Words)
				found = append(found, fault{f.Kind, f.Number})
			}
			require.Equal(t, tt.want, found, "%+v", v.Faults)
			if strings.HasPrefix(tt.damage[0], "DELETE FROM t_seq_seal ") {
				v, err = b.VerifySeals(t.Context(), "INV", ledger.Anchor{Number: chain.Number, Hash: chain.Hash})
				require.NoError(t, err)
				require.NotEmpty(t, v.Faults, "whoever kept the end knows")
			}
		})
	}
}

func TestAnAnchorShowsAChainThatWasWrittenAnew(t *testing.T) {
	b := setup(t)
	b.daily(t)
	b.past(t, 4, 2, 1, false)
	require.Equal(t, 1, b.seal(t))
	kept := b.verify(t, "INV")
	b.past(t, 3, 2, 1, false)
	require.Equal(t, 1, b.seal(t))
	anchor := ledger.Anchor{Number: kept.Number, Hash: kept.Hash}
	v, err := b.VerifySeals(t.Context(), "INV", anchor)
	require.NoError(t, err)
	require.Empty(t, v.Faults, "a chain that has gone on")

	b.exec(t, `UPDATE t_seq_issue_log SET status = 2, confirmed_time = UTC_TIMESTAMP(6) WHERE biz_type = 'INV' AND status = 7`)
	for _, table := range []string{"t_seq_seal", "t_seq_seal_head", "t_seq_seal_frontier"} {
		b.exec(t, `DELETE FROM `+table)
	}
	require.Equal(t, 2, b.seal(t))
	b.verify(t, "INV")
	v, err = b.VerifySeals(t.Context(), "INV", anchor)
	require.NoError(t, err)
	require.Len(t, v.Faults, 1)
	require.Equal(t, ledger.SealFaultEnd, v.Faults[0].Kind)
	require.Equal(t, kept.Hash, v.Faults[0].Expected)

	for _, bad := range []ledger.Anchor{{Number: 1}, {Hash: "a"}, {Number: -1, Hash: "a"}} {
		_, err = b.VerifySeals(t.Context(), "INV", bad)
		require.ErrorIs(t, err, sequence.ErrInvalid)
	}
	_, err = b.VerifySeals(t.Context(), "", anchor)
	require.ErrorIs(t, err, sequence.ErrInvalid)
	_, err = b.VerifySeals(t.Context(), "NONE", ledger.Anchor{})
	require.ErrorIs(t, err, sequence.ErrNotFound)
	require.Zero(t, b.verify(t, "ORDER").Number, "a chain that has not begun")
}

func TestALostFrontierIsMadeAnew(t *testing.T) {
	b := setup(t)
	b.daily(t)
	b.past(t, 3, 2, 1, false)
	require.Equal(t, 1, b.seal(t))
	b.exec(t, `DELETE FROM t_seq_seal_frontier`)
	require.Zero(t, b.seal(t), "it is sealed already")
	require.Equal(t, int64(1), b.verify(t, "INV").Seals)
	require.Zero(t, b.count(t, `SELECT COUNT(*) FROM t_seq_seal_open`))
}
