package ledger

// The scans, for EXPLAIN.
const (
	QueryOverdue        = queryOverdue
	QueryOverdueTracked = queryOverdueTracked
	QueryOverdueTaken   = queryOverdueTaken
	QueryWaiting        = queryWaiting
	QueryEndedIn        = queryEndedIn
	QueryHeldBy         = queryHeldBy
	QueryByKey          = queryByKey
	QueryBySeqNo        = queryBySeqNo
	QueryByDeadline     = queryByDeadline
	QueryByState        = queryByState
	QueryStateCount     = queryStateCount
	QueryWindowAge      = queryWindowAge
	QueryOpenLetters    = queryOpenLetters
)

// What an import keeps in memory.
type (
	ValueSet = valueSet
	Span     = span
)

var Without = without

func (s span) Bounds() [2]int64 { return [2]int64{s.lo, s.hi} }

func (s valueSet) Add(value int64) bool     { return s.add(value) }
func (s valueSet) Has(value int64) bool     { return s.has(value) }
func (s valueSet) Any(lo, hi int64) bool    { return s.any(lo, hi) }
func (s valueSet) Gaps(lo, hi int64) []span { return s.gaps(lo, hi) }
func NewSpan(lo, hi int64) span             { return span{lo, hi} }

// NumberColumns are those that the log and the archive share.
const NumberColumns = numberColumns

// Forget makes what was seen of the cursors and of the tide unseen, for tests that write history.
func (l *Ledger) Forget() { l.seen = newSeen() }
