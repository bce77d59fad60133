package client

import (
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/lacuna-seq/lacuna/api"
	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

// errNotTaken is a service that does not take the call: another address, version or permission is needed.
var errNotTaken = errors.New("the service does not take this call")

// fromAPI rebuilds the errors of package sequence from the service's codes and details.
func fromAPI(err error) error {
	var e *connect.Error
	if !errors.As(err, &e) {
		return err
	}
	for _, d := range e.Details() {
		detail, decodeErr := d.Value()
		if decodeErr != nil {
			continue
		}
		switch detail := detail.(type) {
		case *errdetails.BadRequest:
			if v := detail.GetFieldViolations(); len(v) > 0 {
				return &sequence.InvalidError{Field: v[0].GetField(), Reason: v[0].GetDescription()}
			}
		case *errdetails.RetryInfo:
			return &sequence.BusyError{What: e.Message(), RetryAfter: detail.GetRetryDelay().AsDuration()}
		case *errdetails.ErrorInfo:
			if detail.GetReason() == api.ReasonLedgerSteppedBack {
				return &sequence.SteppedBackError{BizType: detail.GetMetadata()["bizType"], Behind: 1}
			}
			for reason, sentinel := range map[string]error{
				api.ReasonFormatFull: sequence.ErrFull, api.ReasonTicketRequired: sequence.ErrTicketRequired,
				api.ReasonKeyReused: sequence.ErrKeyReused, api.ReasonKeySpent: sequence.ErrKeySpent,
			} {
				if detail.GetReason() == reason {
					return fmt.Errorf("%w: %s", sentinel, e.Message())
				}
			}
		case *lacunav1.Refusal:
			return fromRefusal(detail)
		}
	}
	return fromCode(e.Code(), e.Message())
}

// fromSettleError does the same for one result of Settle.
func fromSettleError(e *lacunav1.SettleError) error {
	if e.GetRefusal() != nil {
		return fromRefusal(e.GetRefusal())
	}
	var code connect.Code
	if err := code.UnmarshalText([]byte(e.GetCode())); err != nil {
		code = connect.CodeUnknown
	}
	if code == connect.CodeResourceExhausted {
		return &sequence.BusyError{What: e.GetMessage(), RetryAfter: e.GetRetryDelay().AsDuration()}
	}
	return fromCode(code, e.GetMessage())
}

func fromRefusal(r *lacunav1.Refusal) error {
	asked, askedErr := sequence.ParseTicket(r.GetTicket())
	current, currentErr := sequence.ParseTicket(r.GetCurrentTicket())
	if err := errors.Join(askedErr, currentErr); err != nil {
		return fmt.Errorf("a refusal that cannot be read: %w", err)
	}
	return &sequence.RefusedError{Outcome: outcomeOf(r.GetOutcome()), Asked: asked, Current: current, State: sequence.State(r.GetCurrentState())}
}

func fromCode(code connect.Code, message string) error {
	switch code {
	case connect.CodeInvalidArgument:
		return fmt.Errorf("%w: %s", sequence.ErrInvalid, message)
	case connect.CodeNotFound:
		return fmt.Errorf("%w: %s", sequence.ErrNotFound, message)
	case connect.CodeAlreadyExists:
		return fmt.Errorf("%w: %s", sequence.ErrConflict, message)
	case connect.CodeUnavailable:
		return &sequence.UnavailableError{What: message}
	case connect.CodeResourceExhausted:
		return fmt.Errorf("%w: %s", sequence.ErrBusy, message)
	case connect.CodeUnimplemented, connect.CodePermissionDenied, connect.CodeUnauthenticated:
		return fmt.Errorf("%w: %s: %s", errNotTaken, code, message)
	default: // also "canceled", as a reset connection is called: only the caller's own context tells that
		return fmt.Errorf("%s: %s", code, message)
	}
}

// outcomeOf reads an outcome; 0 for one that this client does not know.
func outcomeOf(o lacunav1.Outcome) sequence.Outcome {
	for _, known := range sequence.Outcomes {
		if "OUTCOME_"+known.String() == o.String() {
			return known
		}
	}
	return 0
}
