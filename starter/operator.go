package main

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// operatorService answers lacuna.v1.OperatorService.
type operatorService struct{ ledger *ledger.Ledger }

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

// changeTo sets the rules that are present. Its error is only what Validate would not find.
func changeTo(asked *lacunav1.BizType, b *sequence.BizType) error {
	var faults []error
	if asked.Format != nil {
		format, err := sequence.ParseFormat(asked.GetFormat())
		if err != nil {
			faults = append(faults, err)
			format, _ = sequence.ParseFormat("{seq:1}") // stands in: Validate need not call it missing as well
		}
		b.Format = format
	}
	if asked.StepMin != nil {
		b.StepMin = int(asked.GetStepMin())
	}
	if asked.StepMax != nil {
		b.StepMax = int(asked.GetStepMax())
	}
	if asked.MaxReplays != nil {
		b.MaxReplays = int(asked.GetMaxReplays())
	}
	for _, d := range []struct {
		field string
		asked *durationpb.Duration
		rule  *time.Duration
	}{{"confirmTimeout", asked.GetConfirmTimeout(), &b.ConfirmTimeout}, {"safetyWindow", asked.GetSafetyWindow(), &b.SafetyWindow}} {
		if d.asked == nil {
			continue
		}
		*d.rule = d.asked.AsDuration()
		if *d.rule%time.Millisecond != 0 {
			faults = append(faults, sequence.Invalidf(d.field, "%s is not a whole number of milliseconds", *d.rule))
		}
	}
	return errors.Join(faults...)
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

func bizTypeMessage(b sequence.BizType) *lacunav1.BizType {
	format, stepMin, stepMax, maxReplays := b.Format.String(), int32(b.StepMin), int32(b.StepMax), int32(b.MaxReplays)
	return &lacunav1.BizType{
		Name: b.Name, Format: &format, StepMin: &stepMin, StepMax: &stepMax, MaxReplays: &maxReplays, Revision: &b.Revision,
		ConfirmTimeout: durationpb.New(b.ConfirmTimeout), SafetyWindow: durationpb.New(b.SafetyWindow),
	}
}
