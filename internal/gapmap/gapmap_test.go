package gapmap_test

import (
	"context"
	"strconv"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/gapmap"
)

// counted are the fields of a cell that count.
func counted() (fields []protoreflect.FieldDescriptor) {
	all := (&lacunav1.MapCell{}).ProtoReflect().Descriptor().Fields()
	for i := range all.Len() {
		if f := all.Get(i); f.Kind() == protoreflect.Int64Kind && f.Name() != "first" && f.Name() != "last" {
			fields = append(fields, f)
		}
	}
	return fields
}

// cellOf counts so many in every class, and one more in each than in the one before.
func cellOf(first, last, n int64) *lacunav1.MapCell {
	c := &lacunav1.MapCell{First: first, Last: last}
	for i, f := range counted() {
		c.ProtoReflect().Set(f, protoreflect.ValueOfInt64(n+int64(i)))
	}
	return c
}

func TestEveryCountOfTheAPIIsAClass(t *testing.T) {
	require.Len(t, gapmap.Classes, len(counted()))
	letters := map[string]bool{}
	sum := int64(0)
	for _, c := range gapmap.Classes {
		require.False(t, letters[c.Letter], "two classes have the letter %s", c.Letter)
		letters[c.Letter] = true
		sum += c.Total([]*lacunav1.MapCell{cellOf(1, 9, 1), cellOf(10, 19, 0)})
	}
	require.Equal(t, int64(12*13/2+11*12/2), sum, "each counts a field of its own")
}

func TestACellIsShownAsWhatNeedsAPersonFirst(t *testing.T) {
	_, ok := gapmap.Shown(&lacunav1.MapCell{})
	require.False(t, ok)
	for _, tt := range []struct {
		cell *lacunav1.MapCell
		want string
	}{
		{&lacunav1.MapCell{Confirmed: 999_999, Dead: 1, Unallocated: 7}, "DEAD"},
		{&lacunav1.MapCell{Confirmed: 5, Abandoned: 1, Replayable: 4}, "ABANDONED"},
		{&lacunav1.MapCell{Confirmed: 5, Replayable: 4, Allocated: 1}, "REPLAYABLE"},
		{&lacunav1.MapCell{Dead: 5, Unaccounted: 1}, "UNACCOUNTED"},
		{&lacunav1.MapCell{Confirmed: 5, Unallocated: 5}, "CONFIRMED"},
	} {
		shown, ok := gapmap.Shown(tt.cell)
		require.True(t, ok)
		require.Equal(t, tt.want, shown.Name)
	}
}

// parts answers one part after the other.
type parts struct {
	t     *testing.T
	parts []*lacunav1.MapNumbersResponse
	asked int
}

func (p *parts) MapNumbers(_ context.Context, r *connect.Request[lacunav1.MapNumbersRequest]) (*connect.Response[lacunav1.MapNumbersResponse], error) {
	if p.asked > 0 {
		require.Equal(p.t, strconv.Itoa(p.asked), r.Msg.GetPageToken())
	}
	part := proto.CloneOf(p.parts[p.asked])
	part.First, part.Width = 1, 10
	if p.asked++; p.asked < len(p.parts) {
		part.NextPageToken = strconv.Itoa(p.asked)
	}
	return connect.NewResponse(part), nil
}

func TestPartsOfAMapArePutTogether(t *testing.T) {
	from := &parts{t: t, parts: []*lacunav1.MapNumbersResponse{
		{Cells: []*lacunav1.MapCell{cellOf(1, 10, 1), cellOf(11, 13, 2)}},
		{Cells: []*lacunav1.MapCell{cellOf(14, 20, 3), cellOf(21, 30, 0)}},
		{Cells: []*lacunav1.MapCell{cellOf(31, 40, 1)}},
	}}
	m, err := gapmap.Read(t.Context(), from, &lacunav1.MapNumbersRequest{BizType: "ORDER"}, func() bool { return true })
	require.NoError(t, err)
	require.Empty(t, m.GetNextPageToken())
	require.Len(t, m.GetCells(), 4)
	whole := m.GetCells()[1]
	require.Equal(t, []int64{11, 20}, []int64{whole.GetFirst(), whole.GetLast()})
	for i, f := range counted() {
		require.Equal(t, int64(2+i+3+i), whole.ProtoReflect().Get(f).Int(), "%s of both parts", f.Name())
	}

	from.asked = 0
	m, err = gapmap.Read(t.Context(), from, &lacunav1.MapNumbersRequest{BizType: "ORDER"}, func() bool { return false })
	require.NoError(t, err)
	require.Equal(t, "1", m.GetNextPageToken(), "the rest was not asked for")
	require.Len(t, m.GetCells(), 2)
}
