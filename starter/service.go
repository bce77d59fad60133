package main

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/runlink"
	"github.com/lacuna-seq/lacuna/issuer"
	"github.com/lacuna-seq/lacuna/sequence"
)

// sequenceService answers lacuna.v1.SequenceService.
type sequenceService struct {
	issuer *issuer.Issuer
	ledger *ledger.Ledger
	runs   runlink.Maker
}

func (s *sequenceService) Next(ctx context.Context, r *connect.Request[lacunav1.NextRequest]) (*connect.Response[lacunav1.NextResponse], error) {
	count := 1
	if r.Msg.Count != nil {
		count = int(r.Msg.GetCount())
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return nil, apiError(err)
	}
	issued, err := s.issuer.Next(ctx, issuer.Request{
		BizType: r.Msg.GetBizType(), BizKey: r.Msg.GetBizKey(), Count: count, AllowPartial: r.Msg.GetAllowPartial(), IdempotencyKey: key,
	})
	if err != nil {
		return nil, apiError(err)
	}
	numbers := make([]*lacunav1.IssuedNumber, len(issued))
	for i, n := range issued {
		numbers[i] = &lacunav1.IssuedNumber{
			Ticket: n.Ticket, SeqNo: n.SeqNo, Life: n.Life, BatchId: n.BatchID, ConfirmBy: timestamppb.New(n.ConfirmBy),
		}
	}
	return connect.NewResponse(&lacunav1.NextResponse{Numbers: numbers}), nil
}

// idempotencyKey reads the key from the field or the header Idempotency-Key, where it may stand in
// quotes; "" for none.
func idempotencyKey(r *connect.Request[lacunav1.NextRequest]) (string, error) {
	field, header := r.Msg.GetIdempotencyKey(), r.Header().Get("Idempotency-Key")
	if len(header) >= 2 && header[0] == '"' && header[len(header)-1] == '"' {
		header = header[1 : len(header)-1]
	}
	if header == "" {
		if len(r.Header().Values("Idempotency-Key")) > 0 {
			return "", sequence.Invalidf("idempotencyKey", "the header Idempotency-Key is empty")
		}
		return field, nil
	}
	if field != "" && field != header {
		return "", sequence.Invalidf("idempotencyKey", "the field and the header Idempotency-Key differ")
	}
	return header, nil
}

func (s *sequenceService) Confirm(ctx context.Context, r *connect.Request[lacunav1.ConfirmRequest]) (*connect.Response[lacunav1.ConfirmResponse], error) {
	outcome, err := s.settleOne(ctx, sequence.Confirm, r.Msg, r.Msg.GetBizKey(), r.Msg.GetReason())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&lacunav1.ConfirmResponse{Outcome: outcome}), nil
}

func (s *sequenceService) Abandon(ctx context.Context, r *connect.Request[lacunav1.AbandonRequest]) (*connect.Response[lacunav1.AbandonResponse], error) {
	outcome, err := s.settleOne(ctx, sequence.Abandon, r.Msg, "", r.Msg.GetReason())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&lacunav1.AbandonResponse{Outcome: outcome}), nil
}

func (s *sequenceService) settleOne(ctx context.Context, kind sequence.Kind, m named, bizKey, reason string) (lacunav1.Outcome, error) {
	ticket, err := ticketOf(m)
	if err == nil && reason != "" {
		err = sequence.ValidateReason(reason)
	}
	if err != nil {
		return 0, apiError(err)
	}
	results, err := s.issuer.Settle(ctx, []sequence.Command{{Kind: kind, Ticket: ticket, BizKey: bizKey, Actor: callerName(ctx), Reason: reason}})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return 0, apiError(err)
	}
	return outcomeMessage(results[0].Outcome), nil
}

func (s *sequenceService) Extend(ctx context.Context, r *connect.Request[lacunav1.ExtendRequest]) (*connect.Response[lacunav1.ExtendResponse], error) {
	ticket, err := sequence.ParseTicket(r.Msg.GetTicket())
	if err != nil {
		return nil, apiError(err)
	}
	if !r.Msg.GetHoldFor().IsValid() {
		return nil, apiError(sequence.Invalidf("holdFor", "is missing: say how long from now the number is needed"))
	}
	confirmBy, err := s.issuer.Extend(ctx, ticket, r.Msg.GetHoldFor().AsDuration())
	if err != nil {
		return nil, apiError(err)
	}
	return connect.NewResponse(&lacunav1.ExtendResponse{ConfirmBy: timestamppb.New(confirmBy)}), nil
}

// Settle answers a malformed command in its place, and carries out the others.
func (s *sequenceService) Settle(ctx context.Context, r *connect.Request[lacunav1.SettleRequest]) (*connect.Response[lacunav1.SettleResponse], error) {
	asked := r.Msg.GetCommands()
	if len(asked) == 0 || len(asked) > issuer.MaxSettle {
		return nil, apiError(sequence.Invalidf("commands", "%d commands are not from 1 to %d", len(asked), issuer.MaxSettle))
	}
	answers := make([]*lacunav1.SettleResult, len(asked))
	var commands []sequence.Command
	var places []int
	for i, c := range asked {
		command, err := commandOf(c)
		if err != nil {
			answers[i] = &lacunav1.SettleResult{Error: settleError(err)}
			continue
		}
		command.Actor = callerName(ctx)
		commands, places = append(commands, command), append(places, i)
	}
	if len(commands) > 0 {
		results, err := s.issuer.Settle(ctx, commands)
		if err != nil {
			return nil, apiError(err)
		}
		for i, result := range results {
			answers[places[i]] = &lacunav1.SettleResult{Outcome: outcomeMessage(result.Outcome)}
			if result.Err != nil {
				answers[places[i]] = &lacunav1.SettleResult{Error: settleError(result.Err)}
			}
		}
	}
	return connect.NewResponse(&lacunav1.SettleResponse{Results: answers}), nil
}

func (s *sequenceService) Get(ctx context.Context, r *connect.Request[lacunav1.GetRequest]) (*connect.Response[lacunav1.GetResponse], error) {
	ticket, err := ticketOf(r.Msg)
	if err != nil {
		return nil, apiError(err)
	}
	n, lives, err := s.ledger.Get(ctx, ticket.BizType, ticket.SeqNo)
	if err == nil && ticket.Life > n.Life {
		err = fmt.Errorf("%s: %w: this life was never handed out", ticket, sequence.ErrNotFound)
	}
	if err != nil {
		return nil, apiError(err)
	}
	timeline, err := s.timeline(ctx, n, lives)
	if err != nil {
		return nil, apiError(err)
	}
	response := &lacunav1.GetResponse{Number: numberMessage(n), RunUrl: s.runs.Of(n.Ticket()), Timeline: timeline}
	for _, life := range lives {
		past := pastLifeMessage(life)
		past.RunUrl = s.runs.Of(life.Ticket)
		response.PastLives = append(response.PastLives, past)
	}
	return connect.NewResponse(response), nil
}

// named is a request that names a number, by its ticket or by biz type and seq no.
type named interface {
	GetTicket() string
	GetBizType() string
	GetSeqNo() string
}

// ticketOf reads what a request names; life 0 where it names no life.
func ticketOf(m named) (sequence.Ticket, error) {
	if m.GetTicket() != "" {
		if m.GetBizType() != "" || m.GetSeqNo() != "" {
			return sequence.Ticket{}, sequence.Invalidf("ticket", "name the number by its ticket or by bizType and seqNo, not by both")
		}
		return sequence.ParseTicket(m.GetTicket())
	}
	if m.GetBizType() == "" && m.GetSeqNo() == "" {
		return sequence.Ticket{}, sequence.Invalidf("ticket", "is missing")
	}
	if err := sequence.ValidateBizTypeName(m.GetBizType()); err != nil {
		return sequence.Ticket{}, err
	}
	if err := sequence.ValidateSeqNo(m.GetSeqNo()); err != nil {
		return sequence.Ticket{}, err
	}
	return sequence.Ticket{BizType: m.GetBizType(), SeqNo: m.GetSeqNo()}, nil
}

func commandOf(c *lacunav1.Command) (sequence.Command, error) {
	var kind sequence.Kind
	switch c.GetAction() {
	case lacunav1.Action_ACTION_CONFIRM:
		kind = sequence.Confirm
	case lacunav1.Action_ACTION_ABANDON:
		kind = sequence.Abandon
	default:
		return sequence.Command{}, sequence.Invalidf("action", "is neither ACTION_CONFIRM nor ACTION_ABANDON")
	}
	ticket, err := sequence.ParseTicket(c.GetTicket())
	if err != nil {
		return sequence.Command{}, err
	}
	if err := sequence.ValidateBizKey(c.GetBizKey()); err != nil {
		return sequence.Command{}, err
	}
	if c.GetReason() != "" {
		if err := sequence.ValidateReason(c.GetReason()); err != nil {
			return sequence.Command{}, err
		}
	}
	return sequence.Command{Kind: kind, Ticket: ticket, BizKey: c.GetBizKey(), Reason: c.GetReason()}, nil
}
