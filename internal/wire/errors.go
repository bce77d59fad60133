package wire

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/lacuna-seq/lacuna/api"
	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

// unavailablePause is when to repeat a call that is UNAVAILABLE.
const unavailablePause = time.Second

// InsideError is what a caller is told of something that went wrong inside, and the cause, which is for the log.
type InsideError struct {
	Told  string
	Level slog.Level
	Cause error
}

func (e *InsideError) Error() string { return e.Told }

// Error is the one table from errors to the API's codes and details. What went wrong inside is an InsideError: it is
// not told, but kept for the log.
func Error(err error) *connect.Error {
	var (
		invalid     *sequence.InvalidError
		revision    *sequence.RevisionError
		refused     *sequence.RefusedError
		busy        *sequence.BusyError
		spent       *sequence.KeySpentError
		unavailable *sequence.UnavailableError
		behind      *sequence.SteppedBackError
	)
	switch {
	case errors.As(err, &invalid):
		return withDetail(connect.CodeInvalidArgument, err, &errdetails.BadRequest{FieldViolations: violations(err)})
	case errors.As(err, &revision):
		return withDetail(connect.CodeAborted, err, info(api.ReasonRevision, "revision", strconv.FormatInt(revision.Current, 10)))
	case errors.As(err, &refused):
		code := connect.CodeFailedPrecondition
		if refused.Outcome == sequence.OutcomeConflict {
			code = connect.CodeAlreadyExists
		}
		return withDetail(code, err, refusalMessage(refused))
	case errors.Is(err, sequence.ErrNotFound):
		return connect.NewError(connect.CodeNotFound, err)
	case errors.Is(err, sequence.ErrTicketRequired):
		return withDetail(connect.CodeFailedPrecondition, err, info(api.ReasonTicketRequired))
	case errors.Is(err, sequence.ErrFull):
		return withDetail(connect.CodeFailedPrecondition, err, info(api.ReasonFormatFull))
	case errors.Is(err, sequence.ErrKeyReused):
		return withDetail(connect.CodeFailedPrecondition, err, info(api.ReasonKeyReused))
	case errors.As(err, &spent):
		return withDetail(connect.CodeFailedPrecondition, err, info(api.ReasonKeySpent,
			"ticket", spent.Ticket.String(), "currentTicket", spent.Current.String(), "state", spent.State.String()))
	case errors.As(err, &busy):
		return after(busy.RetryAfter, withDetail(connect.CodeResourceExhausted, err, &errdetails.RetryInfo{RetryDelay: durationpb.New(busy.RetryAfter)}))
	case errors.As(err, &behind):
		return after(unavailablePause, withDetail(connect.CodeUnavailable, behind, info(api.ReasonLedgerSteppedBack, "bizType", behind.BizType)))
	case errors.As(err, &unavailable):
		return after(unavailablePause, connect.NewError(connect.CodeUnavailable, &InsideError{Told: unavailable.What, Level: slog.LevelWarn, Cause: err}))
	case errors.Is(err, context.Canceled):
		return connect.NewError(connect.CodeCanceled, err)
	case errors.Is(err, context.DeadlineExceeded):
		return connect.NewError(connect.CodeDeadlineExceeded, err)
	}
	return connect.NewError(connect.CodeInternal, &InsideError{Told: "internal error; the server's log says more", Level: slog.LevelError, Cause: err})
}

// after says in whole seconds when to repeat a call, for those who read no details.
func after(pause time.Duration, e *connect.Error) *connect.Error {
	e.Meta().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(pause.Seconds())))))
	return e
}

// info is a reason with its metadata: keys and values in turn.
func info(reason string, metadata ...string) *errdetails.ErrorInfo {
	i := &errdetails.ErrorInfo{Reason: reason, Domain: api.ErrorDomain, Metadata: map[string]string{}}
	for j := 0; j+1 < len(metadata); j += 2 {
		i.Metadata[metadata[j]] = metadata[j+1]
	}
	return i
}

// violations lists every faulty field in an error that joins several.
func violations(err error) []*errdetails.BadRequest_FieldViolation {
	if invalid, ok := err.(*sequence.InvalidError); ok { //nolint:errorlint // the tree is walked here
		return []*errdetails.BadRequest_FieldViolation{{Field: invalid.Field, Description: invalid.Reason}}
	}
	var all []*errdetails.BadRequest_FieldViolation
	switch wrapped := err.(type) { //nolint:errorlint // the tree is walked here
	case interface{ Unwrap() error }:
		all = violations(wrapped.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range wrapped.Unwrap() {
			all = append(all, violations(err)...)
		}
	}
	return all
}

func withDetail(code connect.Code, err error, detail proto.Message) *connect.Error {
	e := connect.NewError(code, err)
	if d, detailErr := connect.NewErrorDetail(detail); detailErr == nil {
		e.AddDetail(d)
	}
	return e
}

// settleError is the same answer inside the response of Settle.
func (s *Service) settleError(ctx context.Context, err error, ticket string) *lacunav1.SettleError {
	e := Error(err)
	if s.Fault != nil {
		s.Fault(ctx, e, ticket)
	}
	out := &lacunav1.SettleError{Code: e.Code().String(), Message: e.Message()}
	var refused *sequence.RefusedError
	var busy *sequence.BusyError
	switch {
	case errors.As(err, &refused):
		out.Refusal = refusalMessage(refused)
	case errors.As(err, &busy):
		out.RetryDelay = durationpb.New(busy.RetryAfter)
	case e.Code() == connect.CodeUnavailable:
		out.RetryDelay = durationpb.New(unavailablePause)
	}
	return out
}

func refusalMessage(r *sequence.RefusedError) *lacunav1.Refusal {
	return &lacunav1.Refusal{
		Outcome: Outcome(r.Outcome), Ticket: r.Asked.String(), CurrentTicket: r.Current.String(),
		CurrentState: State(r.State),
	}
}
