package main

import (
	"context"
	"errors"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
)

// starter answers what the test says.
type starter struct {
	lacunav1connect.UnimplementedOperatorServiceHandler
	check    *lacunav1.CheckPoolResponse
	rebuilds []*lacunav1.RebuildPoolResponse // one a call; after the last it is away
	asked    []*lacunav1.RebuildPoolRequest
}

func (s *starter) CheckPool(context.Context, *connect.Request[lacunav1.CheckPoolRequest]) (*connect.Response[lacunav1.CheckPoolResponse], error) {
	return connect.NewResponse(s.check), nil
}

func (s *starter) RebuildPool(_ context.Context, r *connect.Request[lacunav1.RebuildPoolRequest]) (*connect.Response[lacunav1.RebuildPoolResponse], error) {
	s.asked = append(s.asked, r.Msg)
	if len(s.asked) > len(s.rebuilds) {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("the pool is away"))
	}
	return connect.NewResponse(s.rebuilds[len(s.asked)-1]), nil
}

// lacuna runs the command line against the starter.
func (s *starter) lacuna(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return against(t, s, args...)
}

func drifted(missing int64, seqNos ...string) []*lacunav1.PoolDrift {
	none := func() *lacunav1.PoolDifference { return &lacunav1.PoolDifference{} }
	return []*lacunav1.PoolDrift{{
		BizType: "ORDER", InLedger: 12, InRedis: 9, Missing: &lacunav1.PoolDifference{Count: missing, SeqNos: seqNos},
		Stale: none(), WrongScore: none(), WrongPeriod: none(),
	}}
}

func TestPoolCheck(t *testing.T) {
	s := &starter{check: &lacunav1.CheckPoolResponse{Pools: drifted(3, "A-000001", "A-000002"), MaxmemoryPolicy: "allkeys-lru", Warning: "Redis throws pools away"}}
	out, err := s.lacuna(t, "pool", "check", "ORDER")
	require.ErrorIs(t, err, errFindings)
	require.Equal(t, exitFindings, exitCode(err))
	require.Equal(t, `BIZ TYPE  IN THE LEDGER  IN REDIS  MISSING  STALE  WRONG SCORE  WRONG PERIOD
ORDER     12             9         3        0      0            0
missing of ORDER: A-000001 A-000002 and 1 more
warning: Redis throws pools away
`, out)
	s.check = &lacunav1.CheckPoolResponse{Pools: drifted(0), Runs: []*lacunav1.RunDrift{{
		BizType: "ORDER", Tracked: 700, Open: 699, Missing: &lacunav1.PoolDifference{Count: 1, SeqNos: []string{"A-000001"}}, Settled: &lacunav1.PoolDifference{},
	}}}
	out, err = s.lacuna(t, "pool", "check", "--runs")
	require.ErrorIs(t, err, errFindings, "a number waits without its run")
	require.Contains(t, out, `
BIZ TYPE  WAIT WITH A RUN  OPEN RUNS  RUN MISSING  NUMBER SETTLED
ORDER     700              699        1            0
run missing of ORDER: A-000001
`)
	s.check.Pools = drifted(3, "A-000001")
	out, err = s.lacuna(t, "pool", "check", "--output", "json")
	require.ErrorIs(t, err, errFindings)
	require.Contains(t, out, `"inLedger"`)

	s.check = &lacunav1.CheckPoolResponse{Pools: drifted(0)}
	out, err = s.lacuna(t, "pool", "check")
	require.NoError(t, err)
	require.NotContains(t, out, "missing of")
}

func TestPoolRebuild(t *testing.T) {
	t.Run("is repeated until nothing is left", func(t *testing.T) {
		s := &starter{rebuilds: []*lacunav1.RebuildPoolResponse{
			{Pools: drifted(2, "A-000001", "A-000002"), Corrected: 2, Left: 1}, {Pools: drifted(1, "A-000003"), Corrected: 1},
		}}
		out, err := s.lacuna(t, "pool", "rebuild", "ORDER", "--actor", "mia", "--limit", "2")
		require.NoError(t, err)
		require.Len(t, s.asked, 2)
		require.Equal(t, "mia", s.asked[1].GetActor())
		require.Equal(t, int32(2), s.asked[1].GetLimit())
		require.Equal(t, `corrected 2, 1 left
BIZ TYPE  IN THE LEDGER  IN REDIS  MISSING  STALE  WRONG SCORE  WRONG PERIOD
ORDER     12             9         3        0      0            0
missing of ORDER: A-000001 A-000002 and 1 more
corrected 3, 0 left
`, out)
	})
	t.Run("says what was done before it failed", func(t *testing.T) {
		s := &starter{rebuilds: []*lacunav1.RebuildPoolResponse{{Pools: drifted(2), Corrected: 2, Left: 1}}}
		out, err := s.lacuna(t, "pool", "rebuild", "--actor", "mia")
		require.ErrorContains(t, err, "with 2 numbers corrected")
		require.Equal(t, exitFailed, exitCode(err))
		require.Contains(t, out, "corrected 2, 1 left")

		s = &starter{rebuilds: []*lacunav1.RebuildPoolResponse{{Pools: drifted(2), Corrected: 2, Interrupted: "the pool is away"}}}
		_, err = s.lacuna(t, "pool", "rebuild", "--actor", "mia")
		require.ErrorContains(t, err, "interrupted with 2 numbers corrected: the pool is away")
		require.Equal(t, exitFailed, exitCode(err))
	})
	t.Run("only looks where it is asked to", func(t *testing.T) {
		s := &starter{rebuilds: []*lacunav1.RebuildPoolResponse{{Pools: drifted(3), Corrected: 2, Left: 1}}}
		out, err := s.lacuna(t, "pool", "rebuild", "--actor", "mia", "--dry-run")
		require.ErrorIs(t, err, errFindings)
		require.Len(t, s.asked, 1)
		require.Contains(t, out, "would correct 2, 1 left")
	})
	t.Run("needs a name", func(t *testing.T) {
		_, err := (&starter{}).lacuna(t, "pool", "rebuild")
		require.ErrorContains(t, err, "--actor")
	})
}
