package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of a map.
const (
	defaultCells = 100
	maxMaps      = 4 // at once: the rest of the ledger's connections issues numbers
	mapRetry     = time.Second
)

func (s *operatorService) MapNumbers(ctx context.Context, r *connect.Request[lacunav1.MapNumbersRequest]) (*connect.Response[lacunav1.MapNumbersResponse], error) {
	filter, err := mapFilterOf(r.Msg)
	if err != nil {
		return nil, apiError(err)
	}
	if s.maps.Add(1) > maxMaps {
		s.maps.Add(-1)
		return nil, apiError(&sequence.BusyError{What: strconv.Itoa(maxMaps) + " maps are made in this process", RetryAfter: mapRetry})
	}
	defer s.maps.Add(-1)
	m, err := s.ledger.Map(ctx, filter)
	if err != nil {
		return nil, apiError(err)
	}
	return connect.NewResponse(mapMessage(m)), nil
}

func mapFilterOf(m *lacunav1.MapNumbersRequest) (ledger.MapFilter, error) {
	if m.GetPageToken() != "" {
		f, err := parseMapPart(m.GetPageToken())
		f.BizType = m.GetBizType()
		return f, err
	}
	cells, err := oneTo("cells", m.GetCells(), defaultCells, ledger.MaxMapCells)
	return ledger.MapFilter{BizType: m.GetBizType(), Period: m.GetPeriod(), From: m.From, To: m.To, Cells: cells}, err
}

func mapMessage(m ledger.NumberMap) *lacunav1.MapNumbersResponse {
	answer := &lacunav1.MapNumbersResponse{
		Time: wire.Time(m.Time), Period: m.Period, Periods: m.Periods, First: m.First, Cursor: m.Cursor, Last: m.Last,
		From: m.From, To: m.To, Width: m.Width,
	}
	for _, c := range m.Cells {
		answer.Cells = append(answer.Cells, cellMessage(c))
	}
	if m.Next != 0 {
		answer.NextPageToken = mapPartText(m)
	}
	return answer
}

func cellMessage(c ledger.MapCell) *lacunav1.MapCell {
	m := &lacunav1.MapCell{
		First: c.First, Last: c.Last,
		Reserved: c.States[sequence.Reserved], Allocated: c.States[sequence.Allocated], Confirmed: c.States[sequence.Confirmed],
		Abandoned: c.States[sequence.Abandoned], Replayable: c.States[sequence.Replayable], Replayed: c.States[sequence.Replayed],
		Dead: c.States[sequence.Dead], Retired: c.States[sequence.Retired],
		Unknown: c.UnknownStatus, Skipped: c.Skipped, Unaccounted: c.Unaccounted, Unallocated: c.Unallocated,
	}
	if n := c.Number; n != nil {
		m.Number = &lacunav1.MapNumber{SeqNo: n.SeqNo, State: wire.State(n.State), Life: n.Life, BizKey: n.BizKey, Archived: c.Archived}
	}
	return m
}

// mapPartText names the part that follows, by the range, the width and the value that it begins with.
func mapPartText(m ledger.NumberMap) string {
	parts := []string{m.Period}
	for _, value := range []int64{m.From, m.To, m.Width, m.Next} {
		parts = append(parts, strconv.FormatInt(value, 10))
	}
	return strings.Join(parts, positionSeparator)
}

func parseMapPart(token string) (ledger.MapFilter, error) {
	fault := sequence.Invalidf("pageToken", "is not one that an answer gave")
	parts := strings.Split(token, positionSeparator)
	if len(parts) != 5 {
		return ledger.MapFilter{}, fault
	}
	m := ledger.NumberMap{Period: parts[0]}
	for i, field := range []*int64{&m.From, &m.To, &m.Width, &m.Next} {
		var err error
		if *field, err = strconv.ParseInt(parts[i+1], 10, 64); err != nil {
			return ledger.MapFilter{}, fault
		}
	}
	if mapPartText(m) != token || !isPowerOfTen(m.Width) || m.From < 0 || m.Next < m.From || m.To < m.Next {
		return ledger.MapFilter{}, fault
	}
	return ledger.MapFilter{Period: m.Period, From: &m.From, To: &m.To, Cells: ledger.MaxMapCells, Width: m.Width, Begin: m.Next}, nil
}

func isPowerOfTen(n int64) bool {
	for n > 9 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}
