package pool

// poolKey is the sorted set of a biz type's free numbers. The braces are a hash tag: all keys of
// one biz type live in one slot of a cluster. A biz type's name cannot contain braces.
func poolKey(bizType string) string { return "lacuna:{" + bizType + "}:pool" }
