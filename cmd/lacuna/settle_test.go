package main

import (
	"errors"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

func TestNext(t *testing.T) {
	f := &fake{}
	out, err := f.lacuna(t, "next", "ORDER", "--count", "2", "--key", "cart-1", "--idempotency-key", "k-1")
	require.NoError(t, err)
	require.Equal(t, "TICKET            SEQ NO    LIFE  CONFIRM BY\nORDER~A-000001~1  A-000001  1     2026-12-01T10:15:00.000Z\n", out)
	asked := last[*lacunav1.NextRequest](t, f)
	require.Equal(t, int32(2), asked.GetCount())
	require.Equal(t, "cart-1", asked.GetBizKey())
	require.Equal(t, "k-1", asked.GetIdempotencyKey())

	out, err = f.lacuna(t, "next", "ORDER", "--output", "json")
	require.NoError(t, err)
	require.Equal(t, `{"ticket":"ORDER~A-000001~1","seqNo":"A-000001","life":1,"confirmBy":"2026-12-01T10:15:00Z"}`+"\n", out)
}

func TestSettleSaysWhatBecameOfEachTicket(t *testing.T) {
	f := &fake{results: []*lacunav1.SettleResult{
		{Outcome: lacunav1.Outcome_OUTCOME_RESCUED},
		{Error: &lacunav1.SettleError{Code: "already_exists", Message: "it is another's", Refusal: &lacunav1.Refusal{Outcome: lacunav1.Outcome_OUTCOME_CONFLICT, CurrentTicket: "ORDER~A-000002~2"}}},
		{Error: &lacunav1.SettleError{Code: "not_found", Message: "there is none"}},
	}}
	out, err := f.lacuna(t, "confirm", "ORDER~A-000001~1", "ORDER~A-000002~1", "ORDER~A-000003~1", "--key", "cart-1")
	require.ErrorIs(t, err, errFindings)
	require.Equal(t, [][]string{
		{"TICKET", "OUTCOME", "CURRENT", "TICKET", "MESSAGE"},
		{"ORDER~A-000001~1", "RESCUED", "-", "-"},
		{"ORDER~A-000002~1", "CONFLICT", "ORDER~A-000002~2", "it", "is", "another's"},
		{"ORDER~A-000003~1", "not_found", "-", "there", "is", "none"},
	}, fields(out))
	require.Equal(t, "cart-1", last[*lacunav1.SettleRequest](t, f).GetCommands()[2].GetBizKey())

	out, err = f.lacuna(t, "abandon", "ORDER~A-000001~1", "--output", "csv")
	require.NoError(t, err)
	require.Equal(t, "ticket,outcome,current_ticket,message\nORDER~A-000001~1,RESCUED,,\n", out)
	require.Equal(t, lacunav1.Action_ACTION_ABANDON, last[*lacunav1.SettleRequest](t, f).GetCommands()[0].GetAction())
}

func TestErrorsSayWhoIsAwayAndWhatToDo(t *testing.T) {
	f := &fake{away: connect.NewError(connect.CodeUnavailable, errors.New("the ledger is away"))}
	_, err := f.lacuna(t, "next", "ORDER")
	require.ErrorContains(t, err, "take 1 number of ORDER: the starter at http://")
	require.ErrorContains(t, err, "the ledger is away (repeat it when that is back")
	require.Equal(t, exitFailed, exitCode(err))

	_, err = f.lacuna(t, "next", "ORDER", "--api", "http://127.0.0.1:1")
	require.ErrorContains(t, err, "no starter answers at http://127.0.0.1:1")
	require.ErrorContains(t, err, "LACUNA_API")

	f.away = connect.NewError(connect.CodeUnauthenticated, errors.New("who are you?"))
	_, err = f.lacuna(t, "next", "ORDER")
	require.ErrorContains(t, err, "LACUNA_TOKEN")
	f.away = connect.NewError(connect.CodeNotFound, errors.New("biz type ORDER: not found"))
	_, err = f.lacuna(t, "next", "ORDER")
	require.EqualError(t, err, "take 1 number of ORDER: not_found: biz type ORDER: not found")
}
