package ledger

// The scans, for EXPLAIN.
const (
	QueryOverdue        = queryOverdue
	QueryOverdueTracked = queryOverdueTracked
	QueryWaiting        = queryWaiting
	QueryEndedIn        = queryEndedIn
	QueryHeldBy         = queryHeldBy
)
