package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/runlink"
	"github.com/lacuna-seq/lacuna/sequence"
)

// operatorService answers lacuna.v1.OperatorService.
type operatorService struct {
	ledger   *ledger.Ledger
	pool     *pool.Pool
	runs     runlink.Maker
	openRuns openRuns
	stopping context.Context //nolint:containedctx // ends when the process is to stop: long work looks at it
	audits   atomic.Int32    // those that run
	counting atomic.Bool     // of the states, by this process
	maps     atomic.Int32
}

func (s *operatorService) PutBizType(ctx context.Context, r *connect.Request[lacunav1.PutBizTypeRequest]) (*connect.Response[lacunav1.PutBizTypeResponse], error) {
	asked := r.Msg.GetBizType()
	if asked == nil {
		return nil, apiError(sequence.Invalidf("bizType", "is missing"))
	}
	if err := sequence.ValidateBizTypeName(asked.GetName()); err != nil {
		return nil, apiError(err)
	}
	b, err := s.put(ctx, asked)
	if err != nil {
		return nil, apiError(err)
	}
	slog.InfoContext(ctx, "a biz type was made or changed", "actor", callerName(ctx), "biz_type", b.Name, "revision", b.Revision)
	return connect.NewResponse(&lacunav1.PutBizTypeResponse{BizType: bizTypeMessage(b)}), nil
}

// put changes the biz type, or makes it where there is none. Two that make the same one at once
// find it made by the other, and are told its revision.
func (s *operatorService) put(ctx context.Context, asked *lacunav1.BizType) (sequence.BizType, error) {
	b, err := s.ledger.ChangeBizType(ctx, asked.GetName(), asked.GetRevision(), func(b *sequence.BizType) error { return changeTo(asked, b) })
	if !errors.Is(err, sequence.ErrNotFound) || asked.GetRevision() != 0 {
		return b, err
	}
	b = sequence.NewBizType(asked.GetName(), sequence.Format{})
	if err := errors.Join(changeTo(asked, &b), b.Validate()); err != nil {
		return b, err
	}
	if err := s.ledger.CreateBizType(ctx, b); errors.Is(err, ledger.ErrExists) {
		return s.ledger.ChangeBizType(ctx, b.Name, 0, func(*sequence.BizType) error { return nil })
	} else if err != nil {
		return b, err
	}
	b.Revision = 1
	return b, nil
}

func (s *operatorService) GetBizType(ctx context.Context, r *connect.Request[lacunav1.GetBizTypeRequest]) (*connect.Response[lacunav1.GetBizTypeResponse], error) {
	if err := sequence.ValidateBizTypeName(r.Msg.GetName()); err != nil {
		return nil, apiError(err)
	}
	b, err := s.ledger.BizType(ctx, r.Msg.GetName())
	if err != nil {
		return nil, apiError(err)
	}
	return connect.NewResponse(&lacunav1.GetBizTypeResponse{BizType: bizTypeMessage(b)}), nil
}

func (s *operatorService) ListBizTypes(ctx context.Context, _ *connect.Request[lacunav1.ListBizTypesRequest]) (*connect.Response[lacunav1.ListBizTypesResponse], error) {
	all, err := s.ledger.BizTypes(ctx)
	if err != nil {
		return nil, apiError(err)
	}
	response := &lacunav1.ListBizTypesResponse{}
	for _, b := range all {
		response.BizTypes = append(response.BizTypes, bizTypeMessage(b))
	}
	return connect.NewResponse(response), nil
}
