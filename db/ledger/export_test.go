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
)
