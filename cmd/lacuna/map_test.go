package main

import (
	"context"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
)

// cartographer answers MapNumbers in two parts, and keeps what it was asked.
type cartographer struct {
	lacunav1connect.UnimplementedOperatorServiceHandler
	asked []*lacunav1.MapNumbersRequest
}

func (c *cartographer) MapNumbers(_ context.Context, r *connect.Request[lacunav1.MapNumbersRequest]) (*connect.Response[lacunav1.MapNumbersResponse], error) {
	c.asked = append(c.asked, r.Msg)
	m := &lacunav1.MapNumbersResponse{First: 1, Cursor: 518, Last: 999_999, From: 1, To: 520, Width: 10, Period: "202612"}
	begin, end := int64(0), int64(30)
	if r.Msg.GetPageToken() != "" {
		begin, end = 30, 52
	} else {
		m.NextPageToken = "more"
	}
	for i := begin; i < end; i++ {
		cell := &lacunav1.MapCell{First: 10*i + 1, Last: 10*i + 10, Confirmed: 10}
		switch i {
		case 2:
			cell.Confirmed, cell.Dead = 9, 1
		case 51:
			cell.Confirmed, cell.Allocated, cell.Unallocated = 7, 1, 2
		}
		m.Cells = append(m.Cells, cell)
	}
	return connect.NewResponse(m), nil
}

func TestMapDrawsALetterForEachCell(t *testing.T) {
	c := &cartographer{}
	out, err := against(t, c, "map", "ORDER", "--from", "1", "--to", "520", "--cells", "52", "--period", "202612")
	require.NoError(t, err)
	require.Equal(t, "202612", c.asked[0].GetPeriod())
	require.Equal(t, []int64{1, 520, 52}, []int64{c.asked[0].GetFrom(), c.asked[0].GetTo(), int64(c.asked[0].GetCells())})
	require.Equal(t, "more", c.asked[1].GetPageToken())
	require.Equal(t, `ORDER 202612 1 to 520, the cursor is at 518; a letter stands for 10

  1  ··D···············································
501  ·C

A letter is the first of these that its numbers have:
D             1  DEAD: could not be brought back, waits for a person
C             1  ALLOCATED: with a caller, not confirmed yet
·           516  CONFIRMED: in business use
-             2  UNALLOCATED: above the cursor, not allocated yet
`, out)
}

func TestMapForPrograms(t *testing.T) {
	out, err := against(t, &cartographer{}, "map", "ORDER", "--output", "csv")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 1+52)
	require.Equal(t, "first,last,seq_no,unaccounted,unknown,dead,abandoned,replayable,replayed,allocated,reserved,retired,skipped,confirmed,unallocated", lines[0])
	require.Equal(t, "21,30,,0,0,1,0,0,0,0,0,0,0,9,0", lines[3])
	out, err = against(t, &cartographer{}, "map", "ORDER", "--output", "json")
	require.NoError(t, err)
	require.Contains(t, out, `{"first":"21","last":"30","confirmed":"9","dead":"1"}`)
}
