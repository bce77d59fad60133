package main

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestATokenOfAPartOfAMap(t *testing.T) {
	for _, m := range []ledger.NumberMap{
		{From: 0, To: 9, Width: 1, Next: 5}, {Period: "202612", From: 1, To: 1_000_000_000_000, Width: 10_000_000_000, Next: 700_000_001},
	} {
		f, err := parseMapPart(mapPartText(m))
		require.NoError(t, err)
		require.Equal(t, ledger.MapFilter{Period: m.Period, From: &m.From, To: &m.To, Cells: ledger.MaxMapCells, Width: m.Width, Begin: m.Next}, f)
	}
	for _, token := range []string{"7", "~1~9~1", "~1~9~1~x", "~1~9~1~05", "~1~9~0~5", "~1~9~-10~5", "~1~9~20~5", "~1~9~1~10", "~3~9~1~2", "~-1~9~1~2", "~1~9~1~5~"} {
		_, err := parseMapPart(token)
		require.ErrorIs(t, err, sequence.ErrInvalid, token)
	}
}

func TestTheClassesOfACellAddUp(t *testing.T) {
	c := ledger.MapCell{First: 1, Last: 51, States: [8]int64{1, 2, 3, 4, 5, 6, 7, 8}, UnknownStatus: 1, Skipped: 2, Unaccounted: 5, Unallocated: 7}
	require.Equal(t, c.Last-c.First+1, c.Sum())
	m := cellMessage(c)
	require.Equal(t, c.Sum(), m.GetReserved()+m.GetAllocated()+m.GetConfirmed()+m.GetAbandoned()+m.GetReplayable()+m.GetReplayed()+m.GetDead()+m.GetRetired()+
		m.GetUnknown()+m.GetSkipped()+m.GetUnaccounted()+m.GetUnallocated())
	c.Number = &sequence.Number{SeqNo: "A-000001", State: sequence.Dead, Life: 3, BizKey: "cart-1"}
	require.True(t, proto.Equal(&lacunav1.MapNumber{SeqNo: "A-000001", State: lacunav1.State_STATE_DEAD, Life: 3, BizKey: "cart-1"}, cellMessage(c).GetNumber()))
}

func TestFewMapsAreMadeAtOnce(t *testing.T) {
	s := &operatorService{}
	s.maps.Store(maxMaps)
	_, err := s.MapNumbers(t.Context(), connect.NewRequest(&lacunav1.MapNumbersRequest{BizType: "ORDER"}))
	require.ErrorContains(t, err, "4 maps are made in this process")
	require.Equal(t, int32(maxMaps), s.maps.Load())
}
