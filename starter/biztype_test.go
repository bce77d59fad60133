package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestTheAPISpeaksEveryRuleOfABizType(t *testing.T) {
	for _, s := range sequence.Sources {
		require.Contains(t, lacunav1.Source_value, sourcePrefix+s.String())
	}
	require.Len(t, lacunav1.Source_value, len(sequence.Sources)+1)
	for _, r := range sequence.Reuses {
		require.Contains(t, lacunav1.Reuse_value, reusePrefix+r.String())
	}
	require.Len(t, lacunav1.Reuse_value, len(sequence.Reuses)+1)
	for _, o := range sequence.PoolOrders {
		require.Contains(t, lacunav1.PoolOrder_value, poolOrderPrefix+o.String())
	}
	require.Len(t, lacunav1.PoolOrder_value, len(sequence.PoolOrders)+1)

	// What is read is what is written, so that a person can read, change and put a biz type.
	format, err := sequence.ParseFormat("INV{yyyy}-{seq:6}{luhn}")
	require.NoError(t, err)
	b := sequence.NewBizType("INV", format)
	b.TimeZone, err = sequence.ParseZone("Asia/Shanghai")
	require.NoError(t, err)
	b.Start, b.Reuse, b.PoolOrder, b.DurableIssue, b.MaxReplays = 7, sequence.ReuseNever, sequence.PoolOrderOldest, true, 5
	again := sequence.NewBizType("INV", sequence.Format{})
	require.NoError(t, changeTo(bizTypeMessage(b), &again))
	require.Equal(t, b.TimeZone.String(), again.TimeZone.String())
	again.TimeZone = b.TimeZone
	require.Equal(t, b, again)
}
