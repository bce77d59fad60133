package sequence

import "time"

// Number is one row of the ledger. Times are UTC and the database's; the zero time is "not yet".
type Number struct {
	ID      int64
	BizType string
	Period  string
	SeqNo   string
	Value   int64
	Life    int32 // how often it has been issued, or may have been; 0 = never
	Replays int32 // how often it was issued again after an abandonment
	BatchID string
	State   State
	Tracked bool // it has a run of its own in Temporal
	// Durable: while it is held, its caller is answered only after its record is written.
	Durable bool
	BizKey  string

	IssuedTime    time.Time
	ConfirmedTime time.Time
	AbandonedTime time.Time
	// Deadline: Allocated, confirm by; Abandoned, end of the window; Replayable, next pool check.
	Deadline time.Time
	// TakenUntil: until then a Compensation sees to the overdue number, at most; zero while none does.
	TakenUntil time.Time
	// TakenBy is that Compensation's workflow ID.
	TakenBy string

	RetryTimes int32
	Version    int64
	Owner      string // the issuer that holds it, in states Reserved and Replayed only
	Reason     string
	// Trace is the W3C traceparent of the call that handed the present life out; empty where that was not traced.
	// While the number is free or held it is that of the life before.
	Trace string
	// LifeUnsure: it was open when the ledger stepped back, so that lives above Life may have been handed out.
	LifeUnsure bool
}

// Ticket names the number's present life. A number of life 0 has none: see NextTicket.
func (n Number) Ticket() Ticket {
	return Ticket{BizType: n.BizType, SeqNo: n.SeqNo, Life: n.Life}
}

// NextTicket names the life that begins when the number is handed out next.
func (n Number) NextTicket() Ticket {
	return Ticket{BizType: n.BizType, SeqNo: n.SeqNo, Life: n.NextLife()}
}

// NextLife is the life that begins when the number is handed out next: one above every life that it may have had.
func (n Number) NextLife() int32 {
	if n.LifeUnsure {
		return n.nextUnsureLife()
	}
	return n.Life + 1
}
