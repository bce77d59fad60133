package pool

// The braces are a hash tag: all keys of one biz type live in one slot of a cluster. A biz type's
// name cannot contain braces.

// poolKey is the sorted set of a biz type's free numbers, and of one period where numbers are issued
// again in their own period only.
func poolKey(bizType, period string) string {
	key := "lacuna:{" + bizType + "}:pool"
	if period != "" {
		key += ":" + period
	}
	return key
}

// counterKey is the counter of a biz type of the source REDIS: the last value taken, a string.
func counterKey(bizType string) string { return "lacuna:{" + bizType + "}:counter" }

// markKey says how far the pools are known to be complete.
const markKey = "lacuna:mark"

// marksKey is the hash of the highest cursor that was seen of each period of a biz type.
func marksKey(bizType string) string { return "lacuna:{" + bizType + "}:marks" }

// tideKey is the hash whose field tideField is the highest tide that was seen of the ledger.
const (
	tideKey   = "lacuna:tide"
	tideField = "height"
)
