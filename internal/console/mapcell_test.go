package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

func TestTheBarOfACellIsFull(t *testing.T) {
	all := shares(&lacunav1.MapCell{First: 1, Last: 1_000_000, Confirmed: 999_997, Dead: 1, Retired: 2})
	require.Len(t, all, 3)
	require.Equal(t, "DEAD", all[0].Class)
	require.Greater(t, all[0].Width, 5.0, "one among a million is seen")
	at := 0.0
	for _, s := range all {
		require.InDelta(t, at, s.From, 0.001)
		at += s.Width
	}
	require.InDelta(t, 100, at, 0.001)
	require.Empty(t, shares(&lacunav1.MapCell{}))
}

func TestACountWhereThereIsLittleRoom(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1_000: "1k", 1_099: "1k", 9_999: "9.9k", 10_000: "10k", 999_999: "999k", 1_000_000: "1M", 2_500_000_000: "2.5G", 1e18: "1E"} {
		require.Equal(t, want, shortWords(n), "%d", n)
	}
}

func TestWhereAMapLeads(t *testing.T) {
	of := func(from, to, width int64) *mapView {
		return drawMap("SHOP", &lacunav1.MapNumbersResponse{First: 1, Cursor: 5_000_000, Last: 99_999_999, From: from, To: to, Width: width})
	}
	v := of(1, 5_000_000, 100_000)
	v.navigate(false)
	require.Empty(t, v.Left+v.Right+v.Out+v.Whole, "all is there")
	require.Equal(t, "/map/SHOP?from=100001&to=200000", v.into(&lacunav1.MapCell{First: 100_001, Last: 200_000}))

	v = of(100_001, 200_000, 1_000)
	v.navigate(true)
	require.Equal(t, []string{"/map/SHOP?from=1&to=100000", "/map/SHOP?from=200001&to=300000", "/map/SHOP"}, []string{v.Left, v.Right, v.Whole})
	require.Equal(t, "/map/SHOP?from=1&to=1000000", v.Out)

	v = of(1_000_001, 2_000_000, 10_000)
	v.navigate(true)
	require.Equal(t, "/map/SHOP", v.Out, "ten times as much is all")

	v = of(30_001, 31_000, 10)
	v.navigate(true)
	require.Equal(t, "/map/SHOP?from=30001&to=40000", v.Out)
	require.Equal(t, "/map/SHOP?from=30101&to=30200#c30171", v.into(&lacunav1.MapCell{First: 30_171, Last: 30_180}), "among its neighbours")

	v = of(30_101, 30_200, 1)
	require.Equal(t, "/numbers/SHOP/A%2F1", v.into(&lacunav1.MapCell{First: 30_101, Last: 30_101, Number: &lacunav1.MapNumber{SeqNo: "A/1"}}))
	require.Empty(t, v.into(&lacunav1.MapCell{First: 30_101, Last: 30_101, Unallocated: 1}))
}

func TestGroupsOfAMapKeepTheirPlaces(t *testing.T) {
	v := drawMap("SHOP", &lacunav1.MapNumbersResponse{First: 1, Cursor: 40, Last: 99, From: 8, To: 12, Width: 1, NextPageToken: "more", Cells: []*lacunav1.MapCell{
		{First: 8, Last: 8, Confirmed: 1}, {First: 9, Last: 9, Confirmed: 1}, {First: 10, Last: 10, Confirmed: 1}, {First: 11, Last: 11, Confirmed: 1},
	}})
	require.Len(t, v.Groups, 2)
	require.Len(t, v.Groups[0].Before, 7)
	require.Equal(t, []int64{8, 10}, []int64{v.Groups[0].First, v.Groups[0].Last})
	require.Empty(t, v.Groups[1].Before)
	require.Equal(t, int64(12), v.Uncounted, "the page says that more is to come")
}
