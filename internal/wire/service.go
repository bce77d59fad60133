package wire

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

// MaxSettle is the most commands of one call of Settle.
const MaxSettle = 1_000

// Issuing is what hands numbers out and settles them. Its errors are those of package sequence.
type Issuing interface {
	Next(ctx context.Context, asked Asked) ([]Issued, error)
	// Settle carries out confirms and abandons, and answers each in its place.
	Settle(ctx context.Context, commands []sequence.Command) ([]Settled, error)
	// Extend answers by when the holder has to confirm now.
	Extend(ctx context.Context, ticket sequence.Ticket, holdFor time.Duration) (confirmBy time.Time, err error)
	// History reads what is known of a number.
	History(ctx context.Context, bizType, seqNo string) (History, error)
}

// Asked is a call of Next as it was sent; only its key's two spellings have been compared.
type Asked struct {
	BizType, BizKey string
	Count           int
	AllowPartial    bool
	IdempotencyKey  string // "" for none
}

// Issued is one number in the hands of its caller.
type Issued struct {
	Ticket    string
	SeqNo     string
	Life      int32
	BatchID   string
	ConfirmBy time.Time // zero where a number is final at its issue
}

// Settled is what became of one command; Err is nil where it did, or had already done, what was asked.
type Settled struct {
	Outcome sequence.Outcome
	Err     error
}

// Service answers lacuna.v1.SequenceService.
type Service struct {
	Issuing Issuing
	// Fault is told of each command of Settle that an error answers, which is in no error of the call; nil for nobody.
	Fault func(ctx context.Context, err error, ticket string)
}

// Next answers one number, or as many as are asked for.
func (s *Service) Next(ctx context.Context, r *connect.Request[lacunav1.NextRequest]) (*connect.Response[lacunav1.NextResponse], error) {
	asked := Asked{BizType: r.Msg.GetBizType(), BizKey: r.Msg.GetBizKey(), Count: 1, AllowPartial: r.Msg.GetAllowPartial()}
	if r.Msg.Count != nil {
		asked.Count = int(r.Msg.GetCount())
	}
	var err error
	if asked.IdempotencyKey, err = idempotencyKey(r); err != nil {
		return nil, Error(err)
	}
	issued, err := s.Issuing.Next(ctx, asked)
	if err != nil {
		return nil, Error(err)
	}
	numbers := make([]*lacunav1.IssuedNumber, len(issued))
	for i, n := range issued {
		numbers[i] = &lacunav1.IssuedNumber{
			Ticket: n.Ticket, SeqNo: n.SeqNo, Life: n.Life, BatchId: n.BatchID, ConfirmBy: Time(n.ConfirmBy),
		}
	}
	return connect.NewResponse(&lacunav1.NextResponse{Numbers: numbers}), nil
}

// Confirm carries out one confirm.
func (s *Service) Confirm(ctx context.Context, r *connect.Request[lacunav1.ConfirmRequest]) (*connect.Response[lacunav1.ConfirmResponse], error) {
	outcome, err := s.settleOne(ctx, sequence.Confirm, r.Msg, r.Msg.GetBizKey(), r.Msg.GetReason())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&lacunav1.ConfirmResponse{Outcome: outcome}), nil
}

// Abandon carries out one abandon.
func (s *Service) Abandon(ctx context.Context, r *connect.Request[lacunav1.AbandonRequest]) (*connect.Response[lacunav1.AbandonResponse], error) {
	outcome, err := s.settleOne(ctx, sequence.Abandon, r.Msg, "", r.Msg.GetReason())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&lacunav1.AbandonResponse{Outcome: outcome}), nil
}

func (s *Service) settleOne(ctx context.Context, kind sequence.Kind, m named, bizKey, reason string) (lacunav1.Outcome, error) {
	ticket, err := ticketOf(m)
	if err == nil && reason != "" {
		err = sequence.ValidateReason(reason)
	}
	if err != nil {
		return 0, Error(err)
	}
	results, err := s.Issuing.Settle(ctx, []sequence.Command{{Kind: kind, Ticket: ticket, BizKey: bizKey, Reason: reason}})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return 0, Error(err)
	}
	return Outcome(results[0].Outcome), nil
}

// Extend gives a holder more time.
func (s *Service) Extend(ctx context.Context, r *connect.Request[lacunav1.ExtendRequest]) (*connect.Response[lacunav1.ExtendResponse], error) {
	ticket, err := sequence.ParseTicket(r.Msg.GetTicket())
	if err != nil {
		return nil, Error(err)
	}
	if !r.Msg.GetHoldFor().IsValid() {
		return nil, Error(sequence.Invalidf("holdFor", "is missing: say how long from now the number is needed"))
	}
	confirmBy, err := s.Issuing.Extend(ctx, ticket, r.Msg.GetHoldFor().AsDuration())
	if err != nil {
		return nil, Error(err)
	}
	return connect.NewResponse(&lacunav1.ExtendResponse{ConfirmBy: timestamppb.New(confirmBy)}), nil
}

// Settle answers a malformed command in its place, and carries out the others.
func (s *Service) Settle(ctx context.Context, r *connect.Request[lacunav1.SettleRequest]) (*connect.Response[lacunav1.SettleResponse], error) {
	asked := r.Msg.GetCommands()
	if len(asked) == 0 || len(asked) > MaxSettle {
		return nil, Error(sequence.Invalidf("commands", "%d commands are not from 1 to %d", len(asked), MaxSettle))
	}
	answers := make([]*lacunav1.SettleResult, len(asked))
	var commands []sequence.Command
	var places []int
	for i, c := range asked {
		command, err := commandOf(c)
		if err != nil {
			answers[i] = &lacunav1.SettleResult{Error: s.settleError(ctx, err, c.GetTicket())}
			continue
		}
		commands, places = append(commands, command), append(places, i)
	}
	if len(commands) > 0 {
		results, err := s.Issuing.Settle(ctx, commands)
		if err != nil {
			return nil, Error(err)
		}
		for i, result := range results {
			answers[places[i]] = &lacunav1.SettleResult{Outcome: Outcome(result.Outcome)}
			if result.Err != nil {
				answers[places[i]] = &lacunav1.SettleResult{Error: s.settleError(ctx, result.Err, commands[i].Ticket.String())}
			}
		}
	}
	return connect.NewResponse(&lacunav1.SettleResponse{Results: answers}), nil
}

// Get reads what is known of one number.
func (s *Service) Get(ctx context.Context, r *connect.Request[lacunav1.GetRequest]) (*connect.Response[lacunav1.GetResponse], error) {
	ticket, err := ticketOf(r.Msg)
	if err != nil {
		return nil, Error(err)
	}
	h, err := s.Issuing.History(ctx, ticket.BizType, ticket.SeqNo)
	if err == nil && ticket.Life > h.Number.Life {
		err = fmt.Errorf("%s: %w: this life was never handed out", ticket, sequence.ErrNotFound)
	}
	if err != nil {
		return nil, Error(err)
	}
	return connect.NewResponse(h.message()), nil
}
