package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/drift"
	"github.com/lacuna-seq/lacuna/sequence"
)

// maxRebuild bounds what one call corrects: some seconds of work.
const maxRebuild = 100_000

func (s *operatorService) CheckPool(ctx context.Context, r *connect.Request[lacunav1.CheckPoolRequest]) (*connect.Response[lacunav1.CheckPoolResponse], error) {
	if err := validPool(r.Msg.GetBizType()); err != nil {
		return nil, apiError(err)
	}
	ctx, cancel := s.untilStopped(ctx)
	defer cancel()
	report, err := drift.Check(ctx, s.ledger, s.pool, r.Msg.GetBizType())
	if err != nil {
		return nil, apiError(s.why(err))
	}
	response := &lacunav1.CheckPoolResponse{
		Pools: driftMessages(report), MaxmemoryPolicy: report.EvictionPolicy, Warning: evictionWarning(report.EvictionPolicy),
	}
	if r.Msg.GetRuns() {
		drifts, err := drift.CheckRuns(ctx, s.ledger, s.openRuns, r.Msg.GetBizType())
		if err != nil {
			return nil, apiError(s.why(err))
		}
		for _, d := range drifts {
			response.Runs = append(response.Runs, &lacunav1.RunDrift{
				BizType: d.BizType, Tracked: d.Tracked, Open: d.Open, Missing: differenceMessage(d.Missing), Settled: differenceMessage(d.Settled),
			})
		}
	}
	return connect.NewResponse(response), nil
}

func (s *operatorService) RebuildPool(ctx context.Context, r *connect.Request[lacunav1.RebuildPoolRequest]) (*connect.Response[lacunav1.RebuildPoolResponse], error) {
	m := r.Msg
	limit, limitErr := oneTo("limit", m.GetLimit(), maxRebuild, maxRebuild)
	if err := errors.Join(validPool(m.GetBizType()), limitErr, validNote(m.GetActor())); err != nil {
		return nil, apiError(err)
	}
	actor := callerName(ctx)
	ctx, cancel := s.untilStopped(ctx)
	defer cancel()
	if m.GetDryRun() {
		report, err := drift.Check(ctx, s.ledger, s.pool, m.GetBizType())
		if err != nil {
			return nil, apiError(s.why(err))
		}
		would := min(report.Total(), int64(limit))
		return connect.NewResponse(&lacunav1.RebuildPoolResponse{Pools: driftMessages(report), Corrected: would, Left: report.Total() - would}), nil
	}
	slog.InfoContext(ctx, "an operator rebuilds the pool", "actor", actor, "note", m.GetActor(), "biz_type", m.GetBizType(), "limit", limit)
	report, err := drift.Rebuild(ctx, s.ledger, s.pool, m.GetBizType(), limit)
	slog.InfoContext(ctx, "the pool was rebuilt", "actor", actor, "biz_type", m.GetBizType(),
		"corrected", report.Total(), "left", report.Left, "error", err)
	response := &lacunav1.RebuildPoolResponse{Pools: driftMessages(report), Corrected: report.Total(), Left: report.Left}
	if err != nil {
		failure := apiError(s.why(err))
		if response.Corrected == 0 {
			return nil, failure
		}
		response.Interrupted = failure.Message()
	}
	return connect.NewResponse(response), nil
}

func validPool(bizType string) error {
	if bizType == "" {
		return nil
	}
	return sequence.ValidateBizTypeName(bizType)
}

// untilStopped ends long work when the process is to stop.
func (s *operatorService) untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	release := context.AfterFunc(s.stopping, cancel)
	return ctx, func() { release(); cancel() }
}

// why names the stop of the process where that ended the work: to the work itself it looks like a server that
// is away.
func (s *operatorService) why(err error) error {
	if s.stopping.Err() == nil {
		return err
	}
	return &sequence.UnavailableError{What: "this process stops; repeat the call", Cause: err}
}

// evictionWarning says what is wrong with a maxmemory-policy; "" where nothing is.
func evictionWarning(policy string) string {
	if !pool.MayEvict(policy) {
		return ""
	}
	return fmt.Sprintf("Redis throws pools away when its memory is full: set its maxmemory-policy to noeviction, it is %s", policy)
}

func driftMessages(report drift.Report) []*lacunav1.PoolDrift {
	messages := make([]*lacunav1.PoolDrift, len(report.Pools))
	for i, d := range report.Pools {
		of := func(k drift.Kind) *lacunav1.PoolDifference { return differenceMessage(d.Kinds[k]) }
		messages[i] = &lacunav1.PoolDrift{
			BizType: d.BizType, InLedger: d.InLedger, InRedis: d.InRedis, Missing: of(drift.Missing), Stale: of(drift.Stale),
			WrongScore: of(drift.WrongScore), WrongPeriod: of(drift.WrongPeriod),
		}
	}
	return messages
}

func differenceMessage(d drift.Differences) *lacunav1.PoolDifference {
	return &lacunav1.PoolDifference{Count: d.Count, SeqNos: d.SeqNos}
}
