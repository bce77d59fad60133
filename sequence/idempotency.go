package sequence

// MaxIdempotencyKey bounds an idempotency key, in bytes.
const MaxIdempotencyKey = 128

// IdempotencyKey makes a call of Next repeatable: the same key is answered the same tickets.
type IdempotencyKey struct {
	Caller  string // who calls; keys of different callers are different
	BizType string
	Key     string // 1 to 128 printable bytes of ASCII
}

// ValidateIdempotencyKey accepts 1 to 128 bytes of printable ASCII and answers anything else with an
// InvalidError of the field "idempotencyKey".
func ValidateIdempotencyKey(s string) error {
	valid := len(s) >= 1 && len(s) <= MaxIdempotencyKey
	for i := 0; valid && i < len(s); i++ {
		valid = s[i] >= ' ' && s[i] <= '~'
	}
	if !valid {
		return Invalidf("idempotencyKey", "%s is not 1 to %d bytes of printable ASCII", quote(s), MaxIdempotencyKey)
	}
	return nil
}

// KeyedIssue is one call of Next under a key, with the numbers that were taken for it.
type KeyedIssue struct {
	IdempotencyKey
	// CallID is new with every call: by it a call recognises its own row.
	CallID string
	// Content is the SHA-256 of what the call asked for.
	Content [32]byte
	// Records are the hand-outs, one a number.
	Records []Command
}

// KeyedAnswer is what stands under a key.
type KeyedAnswer struct {
	CallID  string
	Content [32]byte
	Numbers []Number // as they stand now
	Tickets []Ticket // what the first call was answered, one a number
}

// KeyedResult is what became of one keyed issue.
type KeyedResult struct {
	// Decisions are of its records, in their order. The numbers of a call that came second are
	// recorded as abandoned.
	Decisions []Decision
	// Won reports whether the numbers are the key's: this call is answered them.
	Won bool
}
