package main

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/buildinfo"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

// GetStatus asks the ledger for its time and the patrol's age in one go of at most two seconds: who asks wants to
// know that it is away, and not to wait for it.
func (s *operatorService) GetStatus(ctx context.Context, _ *connect.Request[lacunav1.GetStatusRequest]) (*connect.Response[lacunav1.GetStatusResponse], error) {
	build := buildinfo.Read()
	response := &lacunav1.GetStatusResponse{Version: build.Version, Commit: build.Commit, CommitTime: wire.Time(build.Time)}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	now, err := s.ledger.Now(ctx)
	if err == nil {
		response.LedgerTime = wire.Time(now)
		var age time.Duration
		if age, err = s.ledger.PatrolAge(ctx); err == nil {
			response.PatrolAge = durationpb.New(age)
		}
	}
	response.Time = wire.Time(time.Now())
	var unavailable *sequence.UnavailableError
	switch {
	case errors.As(err, &unavailable):
		response.Away = unavailable.What
	case errors.Is(err, context.DeadlineExceeded):
		response.Away = "the ledger does not answer within 2 s"
	case err != nil:
		return nil, apiError(err)
	}
	return connect.NewResponse(response), nil
}
