package sequence

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"
)

// SealBlock is how many values a seal stands for. At the end of a period they are fewer, and where the last
// of them is in a declared skip they are more: the block then goes on to the skip's end.
const SealBlock = 10_000

// SealPause is how long a period must be over before its last, shorter block is sealed: an allocation that
// had begun before the end has long been committed by then.
const SealPause = time.Hour

// Block is a range of values of one biz type and period that is sealed as one.
type Block struct {
	BizType, Period string
	Lo, Hi          int64
}

// String names the block in errors, e.g. "1 to 10000 of ORDER".
func (b Block) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%d to %d of %s %s", b.Lo, b.Hi, b.BizType, b.Period), " ")
}

// SealKind is what an entry of a chain of seals says.
type SealKind string

const (
	// SealOfBlock says what the numbers of a block were when all of them were final.
	SealOfBlock SealKind = "SEAL"
	// SealAmendment says that a number which was sealed as Retired has been confirmed late.
	SealAmendment SealKind = "AMENDMENT"
)

// NoSeal is the hash that the first entry of a chain names as the one before it.
var NoSeal = strings.Repeat("0", 2*sha256.Size)

// Seal is an entry of the chain of a biz type. Hash covers everything but itself, and PreviousHash is the one
// of the entry before.
type Seal struct {
	BizType string
	Number  int64 // from 1, without a gap
	Kind    SealKind
	Period  string
	Lo, Hi  int64 // the same in an amendment

	BlockSum // of a SealOfBlock

	SeqNo  string // of a SealAmendment, as Life and BizKey
	Life   int32
	BizKey string

	SealedTime   time.Time
	PreviousHash string
	Hash         string
}

// BlockSum is what the values of a block add up to.
type BlockSum struct {
	Confirmed, Retired, Skipped int64
	Lives                       int64 // the sum of all numbers' lives
	ContentHash                 string
}

// String is the counts as people read them.
func (s BlockSum) String() string {
	return fmt.Sprintf("%d confirmed, %d retired, %d skipped, %d lives", s.Confirmed, s.Retired, s.Skipped, s.Lives)
}

// sealTime is how a seal's time is spelled in what is hashed.
const sealTime = "2006-01-02T15:04:05.000000Z"

// Text is what the seal's hash is the SHA-256 of: a line of fields with "|" between, none of which has one but
// the last, the biz key.
func (s Seal) Text() string {
	fields := []string{
		s.BizType, strconv.FormatInt(s.Number, 10), string(s.Kind), s.Period, strconv.FormatInt(s.Lo, 10), strconv.FormatInt(s.Hi, 10),
		strconv.FormatInt(s.Confirmed, 10), strconv.FormatInt(s.Retired, 10), strconv.FormatInt(s.Skipped, 10), strconv.FormatInt(s.Lives, 10), s.ContentHash,
		s.SeqNo, strconv.FormatInt(int64(s.Life), 10), s.SealedTime.UTC().Format(sealTime), s.PreviousHash, s.BizKey,
	}
	return strings.Join(fields, "|") + "\n"
}

// Sum is the SHA-256 of Text, in hexadecimal.
func (s Seal) Sum() string {
	sum := sha256.Sum256([]byte(s.Text()))
	return hex.EncodeToString(sum[:])
}

// BlockHash adds up the values of a block, which it is given in ascending order. Its hash is the SHA-256 of a
// line for each number, "value|seq no|state|life", and one for each stretch of a declared skip, "lo-hi|SKIPPED".
type BlockHash struct {
	hash hash.Hash
	line []byte
	sum  BlockSum
}

// NewBlockHash makes one without a value.
func NewBlockHash() *BlockHash { return &BlockHash{hash: sha256.New()} }

// Number adds a number. Only Confirmed and Retired are counted; a state that is not final is hashed all the same.
func (b *BlockHash) Number(value int64, seqNo string, state State, life int32) {
	b.line = append(strconv.AppendInt(b.line[:0], value, 10), '|')
	b.line = append(append(b.line, seqNo...), '|')
	b.line = append(append(b.line, state.String()...), '|')
	b.line = append(strconv.AppendInt(b.line, int64(life), 10), '\n')
	b.hash.Write(b.line)
	switch b.sum.Lives += int64(life); state {
	case Confirmed:
		b.sum.Confirmed++
	case Retired:
		b.sum.Retired++
	case Reserved, Allocated, Abandoned, Replayable, Replayed, Dead:
	}
}

// Skip adds values that are declared as skipped.
func (b *BlockHash) Skip(lo, hi int64) {
	fmt.Fprintf(b.hash, "%d-%d|SKIPPED\n", lo, hi)
	b.sum.Skipped += hi - lo + 1
}

// Sum is what was added so far.
func (b *BlockHash) Sum() BlockSum {
	sum := b.sum
	sum.ContentHash = hex.EncodeToString(b.hash.Sum(nil))
	return sum
}
