package ledger

// SealFaultKind is a way in which a chain of seals and the numbers do not agree.
type SealFaultKind string

const (
	// SealFaultNumbers means: the numbers of a sealed block are not what they were when it was sealed.
	SealFaultNumbers SealFaultKind = "NUMBERS"
	// SealFaultEdited means: an entry of the chain was changed after it was written.
	SealFaultEdited SealFaultKind = "EDITED"
	// SealFaultLink means: an entry does not name the hash of the one before it.
	SealFaultLink SealFaultKind = "LINK"
	// SealFaultMissing means: entries between others are not there.
	SealFaultMissing SealFaultKind = "MISSING"
	// SealFaultEnd means: the chain does not end with the entry that was appended last.
	SealFaultEnd SealFaultKind = "END"
	// SealFaultAmendment means: an amendment and its number do not agree.
	SealFaultAmendment SealFaultKind = "AMENDMENT"
	// SealFaultCover means: a block is neither sealed nor waits for its seal, or values are in two blocks.
	SealFaultCover SealFaultKind = "COVER"
)

// SealFaultKinds lists every kind.
var SealFaultKinds = [...]SealFaultKind{
	SealFaultNumbers, SealFaultEdited, SealFaultLink, SealFaultMissing, SealFaultEnd, SealFaultAmendment, SealFaultCover,
}

// SealFault is what is wrong with an entry of a chain.
type SealFault struct {
	Kind            SealFaultKind
	BizType         string
	Number          int64 // of the entry; the first of those that are missing; 0 where it is of none
	Period          string
	Lo, Hi          int64  // the values that it is about
	Expected, Found string // hashes, or what else was compared
	Words           string
}

// MaxSealFaults bounds how many faults a verification lists; the rest is counted.
const MaxSealFaults = 1_000
