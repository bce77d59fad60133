package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

func (s *operatorService) ListNumbers(ctx context.Context, r *connect.Request[lacunav1.ListNumbersRequest]) (*connect.Response[lacunav1.ListNumbersResponse], error) {
	filter, err := numberFilterOf(r.Msg)
	if err != nil {
		return nil, apiError(err)
	}
	size, err := oneTo("pageSize", r.Msg.GetPageSize(), defaultPage, maxPage)
	if err != nil {
		return nil, apiError(err)
	}
	after, err := placeOf(r.Msg.GetPageToken())
	if err != nil {
		return nil, apiError(err)
	}
	numbers, last, err := s.ledger.List(ctx, filter, after, size)
	if err != nil {
		return nil, apiError(err)
	}
	response := &lacunav1.ListNumbersResponse{NextPageToken: placeToken(last)}
	for _, n := range numbers {
		response.Numbers = append(response.Numbers, wire.Number(n))
	}
	return connect.NewResponse(response), nil
}

func numberFilterOf(m *lacunav1.ListNumbersRequest) (ledger.NumberFilter, error) {
	f := ledger.NumberFilter{
		BizType: m.GetBizType(), BizKey: m.GetBizKey(), From: m.GetFromSeqNo(), To: m.GetToSeqNo(), Since: timeOf(m.GetSince()), Until: timeOf(m.GetUntil()),
	}
	if f.BizType != "" {
		if err := sequence.ValidateBizTypeName(f.BizType); err != nil {
			return f, err
		}
	}
	if err := sequence.ValidateBizKey(f.BizKey); err != nil {
		return f, err
	}
	for _, seqNo := range []string{f.From, f.To} {
		if seqNo == "" {
			continue
		}
		if err := sequence.ValidateSeqNo(seqNo); err != nil {
			return f, err
		}
	}
	if m.State != nil {
		state := sequence.State(m.GetState()) //nolint:gosec // looked up in the next line
		if _, known := lacunav1.State_name[int32(m.GetState())]; !known {
			return f, sequence.Invalidf("state", "%d is none", m.GetState())
		}
		f.State = &state
	}
	if m.OverdueFor != nil {
		f.Overdue, f.OverdueFor = true, m.GetOverdueFor().AsDuration()
	}
	return f, f.Validate()
}

// placeToken spells where a list goes on: what its orders go by, of the last number that was looked at.
func placeToken(n sequence.Number) string {
	if n.ID == 0 {
		return ""
	}
	var deadline int64
	if !n.Deadline.IsZero() {
		deadline = n.Deadline.UnixMicro()
	}
	return fmt.Sprintf("%d.%d.%d.%s", n.ID, n.State, deadline, n.SeqNo)
}

// placeOf reads a token back, to the zero Number where there is none.
func placeOf(token string) (n sequence.Number, err error) {
	if token == "" {
		return n, nil
	}
	parts := strings.SplitN(token, ".", 4)
	var numbers [3]int64
	if len(parts) == 4 {
		for i := range numbers {
			if numbers[i], err = strconv.ParseInt(parts[i], 10, 64); err != nil {
				break
			}
		}
	}
	if len(parts) != 4 || err != nil || numbers[0] < 1 || numbers[1] < 0 || numbers[1] >= int64(len(sequence.States)) || sequence.ValidateSeqNo(parts[3]) != nil {
		return n, sequence.Invalidf("pageToken", "is not one that an answer gave")
	}
	n = sequence.Number{ID: numbers[0], State: sequence.States[numbers[1]], SeqNo: parts[3]}
	if numbers[2] != 0 {
		n.Deadline = time.UnixMicro(numbers[2]).UTC()
	}
	return n, nil
}

// timeOf is the time of a message, the zero time where there is none.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}
