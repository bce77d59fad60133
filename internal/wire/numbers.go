package wire

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

// State relies on the API's codes being the ledger's; a test compares their names.
func State(s sequence.State) lacunav1.State { return lacunav1.State(s) }

// Outcome is an outcome of a confirm, an abandon or an extend; OUTCOME_UNSPECIFIED for any other.
func Outcome(o sequence.Outcome) lacunav1.Outcome {
	return lacunav1.Outcome(lacunav1.Outcome_value["OUTCOME_"+o.String()])
}

// Number is a row of the ledger.
func Number(n sequence.Number) *lacunav1.Number {
	state := State(n.State)
	m := &lacunav1.Number{
		BizType: n.BizType, SeqNo: n.SeqNo, Value: n.Value, Life: n.Life, Replays: n.Replays, State: &state,
		BatchId: n.BatchID, BizKey: n.BizKey, IssuedTime: Time(n.IssuedTime), ConfirmedTime: Time(n.ConfirmedTime),
		AbandonedTime: Time(n.AbandonedTime), Deadline: Time(n.Deadline), Reason: n.Reason, Period: n.Period,
	}
	if n.Life > 0 {
		m.Ticket = n.Ticket().String()
	}
	return m
}

// Time leaves a time that is not yet out of the message.
func Time(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
