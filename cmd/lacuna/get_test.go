package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

func TestGetDrawsLives(t *testing.T) {
	f := &fake{number: &lacunav1.GetResponse{
		Number: &lacunav1.Number{
			BizType: "ORDER", SeqNo: "A-000017", Value: 17, Life: 2, Replays: 1, State: lacunav1.State_STATE_DEAD.Enum(), Ticket: "ORDER~A-000017~2", BatchId: "pool-1",
			BizKey: "cart-2", IssuedTime: at("10:03:00"), AbandonedTime: at("10:08:00"), Reason: "the pool is away",
		},
		PastLives: []*lacunav1.PastLife{{Ticket: "ORDER~A-000017~1", BizKey: "cart-1", IssuedTime: at("10:00:00"), AbandonedTime: at("10:00:40"), Reason: "abandoned by its caller"}},
		RunUrl:    "http://ui/namespaces/default/workflows/ORDER~A-000017~2",
		Timeline: []*lacunav1.TimelineEntry{
			{Time: at("09:59:00"), Ticket: "ORDER~A-000017~0", What: "RECOVERED", Actor: "lacuna"},
			{Time: at("10:00:00"), Ticket: "ORDER~A-000017~1", What: "ISSUED", Actor: "lacuna"},
			{Time: at("10:00:40"), Ticket: "ORDER~A-000017~1", What: "ABANDONED", Actor: "mia", Reason: "ordered twice"},
			{Time: at("10:04:00"), Ticket: "ORDER~A-000017~1", What: "CONFLICT", Actor: "caller", Reason: "held by ORDER~A-000017~2, cart-2", BizKey: "cart-1"},
			{Time: at("10:16:00"), Ticket: "ORDER~A-000017~2", What: "DEAD", Actor: "lacuna", Reason: "the pool is away"},
		},
	}}
	out, err := f.lacuna(t, "get", "ORDER", "A-000017")
	require.NoError(t, err)
	require.Equal(t, `ORDER A-000017: DEAD, life 2
not in use: a dead letter (the pool is away), which waits for a person: lacuna dead requeue ORDER~A-000017~2, or lacuna dead write-off ORDER~A-000017~2
value 17, batch pool-1, issued again 1 time

life 1      2026-12-01T10:00:00.000Z o-- 40s --x 2026-12-01T10:00:40.000Z abandoned by its caller for cart-1
            2026-12-01T10:00:40.000Z ABANDONED by mia: ordered twice
            2026-12-01T10:04:00.000Z CONFLICT by caller: held by ORDER~A-000017~2, cart-2 (for cart-1)
            run: http://ui/namespaces/default/workflows/ORDER~A-000017~1
life 2      2026-12-01T10:03:00.000Z o-- 5m0s --! 2026-12-01T10:08:00.000Z dead, the pool is away for cart-2
            2026-12-01T10:16:00.000Z DEAD by lacuna: the pool is away
            run: http://ui/namespaces/default/workflows/ORDER~A-000017~2
outside these lives
            2026-12-01T09:59:00.000Z RECOVERED by lacuna
`, out)
	require.Equal(t, "A-000017", last[*lacunav1.GetRequest](t, f).GetSeqNo())

	out, err = f.lacuna(t, "get", "ORDER~A-000017~2", "--output", "json")
	require.NoError(t, err)
	require.Contains(t, out, `"state":"STATE_DEAD"`)
	require.Equal(t, "ORDER~A-000017~2", last[*lacunav1.GetRequest](t, f).GetTicket())

	_, err = f.lacuna(t, "get", "ORDER")
	require.ErrorContains(t, err, "lacuna get ORDER A-000017")
	_, err = f.lacuna(t, "get", "ORDER~A-000017~2", "A-000017")
	require.ErrorContains(t, err, "leave A-000017 out")
}

func TestGetSaysWhyANumberIsNotInUse(t *testing.T) {
	for code := range lacunav1.State_name {
		state := lacunav1.State(code)
		n := &lacunav1.Number{BizType: "ORDER", SeqNo: "A-1", State: &state, Deadline: at("11:00:00"), Life: 1, Ticket: "ORDER~A-1~1", IssuedTime: at("10:00:00"), ConfirmedTime: at("10:00:01")}
		out, err := (&fake{number: &lacunav1.GetResponse{Number: n}}).lacuna(t, "get", "ORDER", "A-1")
		require.NoError(t, err)
		require.Contains(t, out, stateName(state))
		require.NotContains(t, out, "upgrade it", "%s has no words", state)
		require.Contains(t, out, "life 1      2026-12-01T10:00:00.000Z o--")
	}
}
