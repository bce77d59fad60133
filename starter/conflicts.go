package main

import (
	"context"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

func (s *operatorService) ListConflicts(ctx context.Context, r *connect.Request[lacunav1.ListConflictsRequest]) (*connect.Response[lacunav1.ListConflictsResponse], error) {
	if name := r.Msg.GetBizType(); name != "" {
		if err := sequence.ValidateBizTypeName(name); err != nil {
			return nil, apiError(err)
		}
	}
	size, after, err := pageOf(r.Msg)
	if err != nil {
		return nil, apiError(err)
	}
	conflicts, err := s.ledger.Conflicts(ctx, r.Msg.GetBizType(), timeOf(r.Msg.GetSince()), after, size+1)
	if err != nil {
		return nil, apiError(err)
	}
	conflicts, next := cutPage(conflicts, size, func(c ledger.Conflict) int64 { return c.ID })
	response := &lacunav1.ListConflictsResponse{NextPageToken: next}
	for _, c := range conflicts {
		response.Conflicts = append(response.Conflicts, s.conflictMessage(c))
	}
	return connect.NewResponse(response), nil
}

func (s *operatorService) conflictMessage(c ledger.Conflict) *lacunav1.Conflict {
	return &lacunav1.Conflict{
		Ticket: c.Asked.String(), BizKey: c.AskedBizKey, CurrentTicket: c.Current.String(), CurrentBizKey: c.CurrentBizKey,
		CurrentState: wire.State(c.State), CurrentIssuedTime: wire.Time(c.IssuedTime), DetectedTime: wire.Time(c.DetectedTime),
		RunUrl: s.runs.Of(c.Asked), CurrentRunUrl: s.runs.Of(c.Current), IssuedTime: wire.Time(c.AskedIssuedTime), AbandonedTime: wire.Time(c.AskedAbandonedTime),
	}
}
