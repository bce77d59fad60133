package main

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// stateMessage relies on the API's codes being the ledger's; a test compares their names.
func stateMessage(s sequence.State) lacunav1.State { return lacunav1.State(s) }

func outcomeMessage(o sequence.Outcome) lacunav1.Outcome {
	return lacunav1.Outcome(lacunav1.Outcome_value["OUTCOME_"+o.String()])
}

func numberMessage(n sequence.Number) *lacunav1.Number {
	state := stateMessage(n.State)
	m := &lacunav1.Number{
		BizType: n.BizType, SeqNo: n.SeqNo, Value: n.Value, Life: n.Life, Replays: n.Replays, State: &state,
		BatchId: n.BatchID, BizKey: n.BizKey, IssuedTime: timeMessage(n.IssuedTime), ConfirmedTime: timeMessage(n.ConfirmedTime),
		AbandonedTime: timeMessage(n.AbandonedTime), Deadline: timeMessage(n.Deadline), Reason: n.Reason, Period: n.Period,
	}
	if n.Life > 0 {
		m.Ticket = n.Ticket().String()
	}
	return m
}

func pastLifeMessage(l ledger.Life) *lacunav1.PastLife {
	return &lacunav1.PastLife{
		Ticket: l.Ticket.String(), BatchId: l.BatchID, BizKey: l.BizKey,
		IssuedTime: timeMessage(l.IssuedTime), AbandonedTime: timeMessage(l.AbandonedTime), Reason: l.Reason,
	}
}

// timeMessage leaves a time that is not yet out of the message.
func timeMessage(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
