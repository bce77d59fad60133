package wire

import (
	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

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
