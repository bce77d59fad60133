package sequence

import (
	"math"
	"strconv"
	"strings"
)

// ticketSeparator cannot occur in a biz type or a seq no, and needs no escaping in a URL.
const ticketSeparator = "~"

// Ticket names one life of one number, e.g. ORDER~A-129032~1. Next returns it, Confirm and
// Abandon quote it, and it is the ID of the lifecycle's workflow.
type Ticket struct {
	BizType string // [A-Z][A-Z0-9_]{0,31}
	SeqNo   string // [A-Za-z0-9_-]{1,64}
	Life    int32  // 1 and up: how often the number has been issued, this time included
}

// String spells the ticket. ParseTicket reads it back.
func (t Ticket) String() string {
	return t.BizType + ticketSeparator + t.SeqNo + ticketSeparator + strconv.Itoa(int(t.Life))
}

// ParseTicket reads a ticket in its one spelling; what would not print the same is an
// InvalidError of the field "ticket".
func ParseTicket(s string) (Ticket, error) {
	bizType, rest, ok := strings.Cut(s, ticketSeparator)
	seqNo, life, ok2 := strings.Cut(rest, ticketSeparator)
	if !ok || !ok2 {
		return Ticket{}, Invalidf("ticket", "%s is not of the form BIZTYPE~SEQNO~LIFE", quote(s))
	}
	if err := ValidateBizTypeName(bizType); err != nil {
		return Ticket{}, Invalidf("ticket", "the biz type of %s is not of the form [A-Z][A-Z0-9_]{0,31}", quote(s))
	}
	if err := ValidateSeqNo(seqNo); err != nil {
		return Ticket{}, Invalidf("ticket", "the seq no of %s is not of the form [A-Za-z0-9_-]{1,64}", quote(s))
	}
	n, err := strconv.ParseInt(life, 10, 32)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != life {
		return Ticket{}, Invalidf("ticket", "the life of %s is not a whole number from 1 to %d without leading zeros", quote(s), math.MaxInt32)
	}
	return Ticket{BizType: bizType, SeqNo: seqNo, Life: int32(n)}, nil
}
