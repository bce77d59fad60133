package drift_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/devenv"
	"github.com/lacuna-seq/lacuna/internal/drift"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// command sends one to a server of the test's own.
func command(t *testing.T, server *devenv.Redis, args ...any) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Address()})
	defer client.Close() //nolint:errcheck // a connection of one command
	require.NoError(t, client.Do(t.Context(), args...).Err())
}

// fill leaves the server no memory, or gives it back.
func fill(t *testing.T, server *devenv.Redis, full bool) {
	t.Helper()
	maxMemory := "0"
	if full {
		maxMemory = "1"
	}
	command(t, server, "config", "set", "maxmemory", maxMemory)
}

func TestC54NothingIsLostWhileRedisIsOutOfMemory(t *testing.T) {
	server := testkit.ForgetfulRedis(t)
	s := setupOn(t, server.URL(0))
	entries := s.free(t, "ORDER", 700)
	fill(t, server, true)
	s.flush(t, entries[100:]) // removing is possible

	err := s.pool.Push(t.Context(), entries[100:])
	require.ErrorIs(t, err, sequence.ErrUnavailable)
	var unavailable *sequence.UnavailableError
	require.ErrorAs(t, err, &unavailable)
	require.Contains(t, unavailable.What, "memory", "what the API's callers are told")
	r, err := drift.Rebuild(t.Context(), s.Ledger, s.pool, "", all)
	require.ErrorContains(t, err, "Redis is out of memory")
	require.Zero(t, r.Total())
	found := s.check(t, "").Pools[1]
	require.Equal(t, int64(700), found.InLedger, "they are free")
	require.Equal(t, int64(600), found.Kinds[drift.Missing].Count)

	fill(t, server, false)
	require.Equal(t, int64(600), s.rebuild(t, all).Total())
	require.Zero(t, s.check(t, "").Total())
	require.Len(t, s.claimAll(t), 700)
}

// noRuns is no Temporal: the look into the pool needs none.
type noRuns struct{}

func (noRuns) Check(context.Context, sequence.Number) (bool, error) {
	return false, errors.New("there are no runs")
}

func (noRuns) Open(context.Context, sequence.Number) (bool, error) {
	return false, errors.New("there are no runs")
}

func (noRuns) CompensationOpen(context.Context, string) (bool, error) {
	return false, errors.New("there are no runs")
}

func (noRuns) Commands(context.Context, sequence.Number) ([]activities.ToldCommand, error) {
	return nil, errors.New("there are no runs")
}

// patrol is one look of the patrol into the pool, ten minutes later.
func (s stores) patrol(t *testing.T) (result activities.RepoolResult, err error) {
	t.Helper()
	_, err = s.DB().ExecContext(t.Context(), "UPDATE t_seq_issue_log SET deadline = deadline - INTERVAL ? SECOND WHERE status = 4", int(2*sequence.PoolCheckAfter/time.Second))
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	activities.NewPatrol(s.Ledger, s.pool, noRuns{}, slog.New(slog.DiscardHandler), activities.DefaultPatrolBatch).Register(env)
	value, err := env.ExecuteActivity(activities.RepoolName)
	if err == nil {
		require.NoError(t, value.Get(&result))
	}
	return result, err
}

func TestC54ThePatrolBringsBackWhatFullMemoryRefused(t *testing.T) {
	server := testkit.ForgetfulRedis(t)
	s := setupOn(t, server.URL(0))
	entries := s.free(t, "ORDER", 700)
	fill(t, server, true)
	s.flush(t, entries[100:])
	_, err := s.patrol(t)
	require.ErrorContains(t, err, "Redis is out of memory")
	fill(t, server, false)
	result, err := s.patrol(t)
	require.NoError(t, err)
	require.Equal(t, activities.RepoolResult{Numbers: 700, Absent: 600}, result)
	result, err = s.patrol(t)
	require.NoError(t, err)
	require.Equal(t, activities.RepoolResult{Numbers: 700}, result)
	require.Len(t, s.claimAll(t), 700)
}

func TestThePatrolLeavesANumberToAPersonThatThePoolLosesAgainAndAgain(t *testing.T) {
	s := setup(t)
	fresh := s.free(t, "ORDER", 2)
	x := &traffic{stores: s, handed: map[sequence.Ticket]int{}}
	claimed, err := x.act(t.Context(), sequence.Claim, sequence.OutcomeClaimed, "b", []sequence.Number{{BizType: "ORDER", SeqNo: fresh[0].SeqNo}})
	require.NoError(t, err)
	handed, err := x.act(t.Context(), sequence.Record, sequence.OutcomeRecorded, "b", claimed)
	require.NoError(t, err)
	_, err = x.act(t.Context(), sequence.Abandon, sequence.OutcomeAbandoned, "b", handed)
	require.NoError(t, err)
	_, err = s.DB().ExecContext(t.Context(), "UPDATE t_seq_issue_log SET abandoned_time = abandoned_time - INTERVAL 1 DAY, deadline = deadline - INTERVAL 1 DAY WHERE status = 3")
	require.NoError(t, err)
	replayed, err := x.act(t.Context(), sequence.Replay, sequence.OutcomeReplayable, "b", handed)
	require.NoError(t, err)
	require.Len(t, replayed, 1)

	for loss := range sequence.MaxPoolLosses {
		s.flush(t, fresh)
		result, err := s.patrol(t)
		require.NoError(t, err)
		require.Equal(t, activities.RepoolResult{Numbers: 2, Absent: 2}, result, "loss %d", loss+1)
	}
	s.flush(t, fresh)
	result, err := s.patrol(t)
	require.NoError(t, err)
	require.Equal(t, activities.RepoolResult{Numbers: 2, Absent: 2, Dead: 1}, result)
	require.Zero(t, s.check(t, "").Total(), "what is dead has left the pool; what was never handed out is pushed on")
	letters, err := s.DeadLetters(t.Context(), ledger.DeadFilter{}, 0, 10)
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Equal(t, sequence.CausePoolAway, letters[0].Cause)
	require.Equal(t, sequence.ReasonPoolLost, letters[0].Reason)
	require.Equal(t, int32(sequence.MaxPoolLosses), letters[0].Number.RetryTimes)
}
