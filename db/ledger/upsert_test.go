package ledger_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

// C46: what is written again is an update under a guard, or a row that is there already; nobody reads meaning
// into how many rows an upsert changed, and no deadlock reaches a caller.
func TestWhatIsWrittenAgain(t *testing.T) {
	b := setup(t)
	block := b.allocate(t, "batch-1", 50)
	b.apply(t, sequence.OutcomeHandedBack, commands(sequence.HandBack, block, 0)...)
	var all sync.WaitGroup
	won := make(chan sequence.Outcome, 50*50)
	for caller := range 50 { // all want all of them
		all.Go(func() {
			claims := commands(sequence.Claim, block, 0)
			for i := range claims {
				claims[i].BatchID = fmt.Sprintf("claim-%d", caller)
			}
			decisions, err := b.Apply(t.Context(), claims)
			require.NoError(t, err)
			for _, d := range decisions {
				won <- d.Outcome
			}
		})
	}
	all.Wait()
	close(won)
	count := map[sequence.Outcome]int{}
	for outcome := range won {
		count[outcome]++
	}
	require.Equal(t, 50, count[sequence.OutcomeClaimed], "each once: %v", count)

	again := b.allocate(t, "batch-2", 1)
	b.apply(t, sequence.OutcomeRecorded, commands(sequence.Record, again, 1)...)
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, again, 1)...)
	bury := commands(sequence.Bury, again, 1)[0]
	bury.Cause, bury.Reason = sequence.CausePoolAway, "connection refused"
	outcomes := make(chan sequence.Outcome, 20)
	for range 20 {
		all.Go(func() {
			decisions, err := b.Apply(t.Context(), []sequence.Command{bury})
			require.NoError(t, err)
			outcomes <- decisions[0].Outcome
		})
	}
	all.Wait()
	require.Equal(t, 1, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_dead"))
	close(outcomes)
	dead := 0
	for outcome := range outcomes {
		if outcome == sequence.OutcomeDead {
			dead++
		} else {
			require.Equal(t, sequence.OutcomeAlreadyDead, outcome)
		}
	}
	require.Equal(t, 1, dead)
}
