package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

func TestEveryListHasItsCSV(t *testing.T) {
	out, err := (&starter{check: &lacunav1.CheckPoolResponse{Pools: drifted(0)}}).lacuna(t, "pool", "check", "--output", "csv")
	require.NoError(t, err)
	require.Equal(t, "biz_type,in_ledger,in_redis,missing,stale,wrong_score,wrong_period\nORDER,12,9,0,0,0,0\n", out)

	out, err = (&keeper{tokens: []*lacunav1.Token{{Name: "shop", Role: lacunav1.Role_ROLE_CALLER, BizTypes: []string{"A", "B"}, Rate: 5, AbandonBudget: 7, CreatedTime: at("10:00:00"), CreatedBy: "mia"}}}).
		lacuna(t, "token", "list", "--output", "csv")
	require.NoError(t, err)
	require.Equal(t, "name,role,biz_types,rate,abandon_budget,created,created_by,expires,last_used,state\nshop,caller,A B,5,7,2026-12-01T10:00:00.000Z,mia,,,valid\n", out)

	out, err = runWindow(t, weekOfAdvice(), "ORDER", "--output", "csv")
	require.NoError(t, err)
	require.Contains(t, out, "window,late_after,held\n15s,2,15.0\n")
}

func TestTextIsAnotherWordForTable(t *testing.T) {
	table, err := deadOrders(1).lacuna(t, "dead", "list", "--output", "table")
	require.NoError(t, err)
	text, err := deadOrders(1).lacuna(t, "dead", "list", "--output", "text")
	require.NoError(t, err)
	require.Equal(t, table, text)
	_, err = deadOrders(1).lacuna(t, "dead", "list", "--output", "xml")
	require.ErrorContains(t, err, "but got \"xml\"")
}
