package main

import (
	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/sequence"
)

// rule is what a procedure needs of its caller.
type rule struct {
	right access.Right
	// touches asks may for each biz type that a request is about, and gives its first error. nil for what is
	// about the whole, or about a biz type that only those call who may touch all of them.
	touches func(request any, may func(bizType string) error) error
	// abandoned counts what an answer abandoned; nil for what abandons nothing.
	abandoned func(request, response any) int64
}

// rules has every procedure that is served; one that is missing here is denied to all.
var rules = map[string]rule{
	lacunav1connect.SequenceServiceNextProcedure:    {right: access.RightIssue, touches: bizTypeOf},
	lacunav1connect.SequenceServiceConfirmProcedure: {right: access.RightSettle, touches: numberOf},
	lacunav1connect.SequenceServiceAbandonProcedure: {right: access.RightSettle, touches: numberOf, abandoned: abandonedOne},
	lacunav1connect.SequenceServiceExtendProcedure:  {right: access.RightSettle, touches: numberOf},
	lacunav1connect.SequenceServiceSettleProcedure:  {right: access.RightSettle, touches: commandsOf, abandoned: abandonedOf},
	lacunav1connect.SequenceServiceGetProcedure:     {right: access.RightLook, touches: numberOf},

	lacunav1connect.OperatorServiceGetBizTypeProcedure: {right: access.RightLook, touches: nameOf},

	lacunav1connect.OperatorServiceListBizTypesProcedure:    {right: access.RightRead},
	lacunav1connect.OperatorServiceListDeadLettersProcedure: {right: access.RightRead},
	lacunav1connect.OperatorServiceListConflictsProcedure:   {right: access.RightRead},
	lacunav1connect.OperatorServiceAuditProcedure:           {right: access.RightRead},
	lacunav1connect.OperatorServiceAdviseWindowProcedure:    {right: access.RightRead},
	lacunav1connect.OperatorServiceCheckPoolProcedure:       {right: access.RightRead},
	lacunav1connect.OperatorServiceListNumbersProcedure:     {right: access.RightRead},
	lacunav1connect.OperatorServiceGetStatusProcedure:       {right: access.RightRead},
	lacunav1connect.OperatorServiceVerifySealsProcedure:     {right: access.RightRead},
	lacunav1connect.OperatorServiceCheckLedgerProcedure:     {right: access.RightRead},
	lacunav1connect.OperatorServiceListActivityProcedure:    {right: access.RightRead},
	lacunav1connect.OperatorServiceMapNumbersProcedure:      {right: access.RightRead},

	lacunav1connect.OperatorServiceRequeueDeadLettersProcedure:  {right: access.RightOperate},
	lacunav1connect.OperatorServiceWriteOffDeadLettersProcedure: {right: access.RightOperate},
	lacunav1connect.OperatorServiceRebuildPoolProcedure:         {right: access.RightOperate},

	lacunav1connect.OperatorServicePutBizTypeProcedure:  {right: access.RightAdminister},
	lacunav1connect.OperatorServiceCreateTokenProcedure: {right: access.RightAdminister},
	lacunav1connect.OperatorServiceListTokensProcedure:  {right: access.RightAdminister},
	lacunav1connect.OperatorServiceRevokeTokenProcedure: {right: access.RightAdminister},
	lacunav1connect.OperatorServiceRaiseLedgerProcedure: {right: access.RightAdminister},
}

func bizTypeOf(request any, may func(string) error) error {
	return may(request.(interface{ GetBizType() string }).GetBizType())
}

func nameOf(request any, may func(string) error) error {
	return may(request.(interface{ GetName() string }).GetName())
}

// numberOf reads a number that is named by its ticket or by biz type and seq no.
func numberOf(request any, may func(string) error) error {
	if m, ok := request.(interface{ GetBizType() string }); ok && m.GetBizType() != "" {
		if err := may(m.GetBizType()); err != nil {
			return err
		}
	}
	return ticketsOf(request.(ticketed), may)
}

func commandsOf(request any, may func(string) error) error {
	for _, c := range request.(*lacunav1.SettleRequest).GetCommands() {
		if err := ticketsOf(c, may); err != nil {
			return err
		}
	}
	return nil
}

type ticketed interface{ GetTicket() string }

// ticketsOf reads a ticket as the service does. One that is malformed is nobody's: the service refuses it.
func ticketsOf(m ticketed, may func(string) error) error {
	ticket, err := sequence.ParseTicket(m.GetTicket())
	if err != nil {
		return nil
	}
	return may(ticket.BizType)
}

func abandonedOne(_, response any) int64 {
	return ifAbandoned(response.(*lacunav1.AbandonResponse).GetOutcome())
}

func abandonedOf(request, response any) (n int64) {
	commands := request.(*lacunav1.SettleRequest).GetCommands()
	for i, r := range response.(*lacunav1.SettleResponse).GetResults() {
		if commands[i].GetAction() == lacunav1.Action_ACTION_ABANDON {
			n += ifAbandoned(r.GetOutcome())
		}
	}
	return n
}

// ifAbandoned counts what was carried out or taken; what was abandoned before counts once.
func ifAbandoned(outcome lacunav1.Outcome) int64 {
	if outcome == lacunav1.Outcome_OUTCOME_ABANDONED || outcome == lacunav1.Outcome_OUTCOME_ACCEPTED {
		return 1
	}
	return 0
}
