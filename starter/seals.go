package main

import (
	"context"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

func (s *operatorService) VerifySeals(ctx context.Context, r *connect.Request[lacunav1.VerifySealsRequest]) (*connect.Response[lacunav1.VerifySealsResponse], error) {
	ctx, done, err := s.beginAudit(ctx) // it reads as much
	if err != nil {
		return nil, apiError(err)
	}
	defer done()
	v, err := s.ledger.VerifySeals(ctx, r.Msg.GetBizType(), ledger.Anchor{Number: r.Msg.GetAnchorNumber(), Hash: r.Msg.GetAnchorHash()})
	if err != nil && s.stopping.Err() != nil {
		err = &sequence.UnavailableError{What: "the process is stopping: ask another", Cause: err}
	}
	if err != nil {
		return nil, apiError(err)
	}
	answer := &lacunav1.VerifySealsResponse{Time: wire.Time(v.Time), Clean: v.Clean(), FaultsLeft: v.FaultsLeft}
	for _, c := range v.Chains {
		answer.Chains = append(answer.Chains, &lacunav1.SealChain{
			BizType: c.BizType, Seals: c.Seals, Values: c.Values, Amendments: c.Amendments,
			Number: c.Number, Hash: c.Hash, SealedTime: wire.Time(c.SealedTime),
		})
	}
	for _, f := range v.Faults {
		answer.Faults = append(answer.Faults, &lacunav1.SealFault{
			Kind: sealFaultKindMessage(f.Kind), BizType: f.BizType, Number: f.Number, Period: f.Period, Lo: f.Lo, Hi: f.Hi,
			Expected: f.Expected, Found: f.Found, Words: f.Words,
		})
	}
	return connect.NewResponse(answer), nil
}

const sealFaultKindPrefix = "SEAL_FAULT_KIND_"

func sealFaultKindMessage(k ledger.SealFaultKind) lacunav1.SealFaultKind {
	return lacunav1.SealFaultKind(lacunav1.SealFaultKind_value[sealFaultKindPrefix+string(k)])
}
