package gapmap

import (
	"context"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// Mapper makes maps: the API's client, or the service itself.
type Mapper interface {
	MapNumbers(context.Context, *connect.Request[lacunav1.MapNumbersRequest]) (*connect.Response[lacunav1.MapNumbersResponse], error)
}

// Read asks for a map and for the parts that follow, until it is whole or more says no, and puts the parts together.
// What is missing then is where the token of the answer goes on. The parts are each of their own moment; the time is
// that of the first.
func Read(ctx context.Context, from Mapper, request *lacunav1.MapNumbersRequest, more func() bool) (*lacunav1.MapNumbersResponse, error) {
	first, err := from.MapNumbers(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	whole := first.Msg
	for whole.GetNextPageToken() != "" && more() {
		part, err := from.MapNumbers(ctx, connect.NewRequest(&lacunav1.MapNumbersRequest{BizType: request.GetBizType(), PageToken: whole.GetNextPageToken()}))
		if err != nil {
			return nil, err
		}
		join(whole, part.Msg)
	}
	return whole, nil
}

// join adds a part that follows. A cell in which the one before ended is in both.
func join(whole, part *lacunav1.MapNumbersResponse) {
	cells := part.GetCells()
	if n := len(whole.GetCells()); n > 0 && len(cells) > 0 {
		if last := whole.GetCells()[n-1]; index(whole, last) == index(whole, cells[0]) {
			last.Last = cells[0].GetLast()
			add(last, cells[0])
			cells = cells[1:]
		}
	}
	whole.Cells = append(whole.Cells, cells...)
	whole.NextPageToken = part.GetNextPageToken()
}

func index(m *lacunav1.MapNumbersResponse, c *lacunav1.MapCell) int64 {
	return (c.GetFirst() - m.GetFirst()) / m.GetWidth()
}

// add adds the counts of another cell.
func add(to, from *lacunav1.MapCell) {
	to.Reserved += from.GetReserved()
	to.Allocated += from.GetAllocated()
	to.Confirmed += from.GetConfirmed()
	to.Abandoned += from.GetAbandoned()
	to.Replayable += from.GetReplayable()
	to.Replayed += from.GetReplayed()
	to.Dead += from.GetDead()
	to.Retired += from.GetRetired()
	to.Unknown += from.GetUnknown()
	to.Skipped += from.GetSkipped()
	to.Unaccounted += from.GetUnaccounted()
	to.Unallocated += from.GetUnallocated()
}
