package main

import (
	"context"
	"errors"
	"log/slog"

	"connectrpc.com/connect"

	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

// logFaults logs what callers are not told, with the number that the call is about and the call's trace.
func logFaults(log *slog.Logger) connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			response, err := next(ctx, r)
			if err != nil {
				logFault(ctx, log, err, append([]any{"procedure", r.Spec().Procedure}, aboutRequest(r.Any())...)...)
			}
			return response, err
		}
	}
}

// logFault logs an error of apiError where it hides its cause.
func logFault(ctx context.Context, log *slog.Logger, err error, about ...any) {
	var inside *wire.InsideError
	if errors.As(err, &inside) {
		log.Log(ctx, inside.Level, inside.Told, append(about, "error", inside.Cause)...)
	}
}

// aboutRequest says which number, or which biz type, a request names.
func aboutRequest(request any) (about []any) {
	if m, ok := request.(interface{ GetTicket() string }); ok && m.GetTicket() != "" {
		if _, err := sequence.ParseTicket(m.GetTicket()); err == nil {
			return []any{telemetry.KeyTicket, m.GetTicket()}
		}
	}
	if m, ok := request.(interface{ GetBizType() string }); ok && m.GetBizType() != "" {
		about = append(about, telemetry.KeyBizType, m.GetBizType())
	}
	return about
}
