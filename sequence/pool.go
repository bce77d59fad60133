package sequence

import "strconv"

// PoolOrder says which free number is issued first.
type PoolOrder int8

const (
	// PoolOrderLowest issues the lowest value first.
	PoolOrderLowest PoolOrder = iota + 1
	// PoolOrderOldest issues the one first that was given up first.
	PoolOrderOldest
)

// PoolOrders lists every order.
var PoolOrders = [...]PoolOrder{PoolOrderLowest, PoolOrderOldest}

// String is the order in capitals, e.g. "LOWEST".
func (o PoolOrder) String() string {
	switch o {
	case PoolOrderLowest:
		return "LOWEST"
	case PoolOrderOldest:
		return "OLDEST"
	}
	return "POOL_ORDER_" + strconv.Itoa(int(o))
}

// ParsePoolOrder reads what String spelled.
func ParsePoolOrder(name string) (PoolOrder, error) {
	return named(PoolOrders[:], "poolOrder", name)
}

// PoolEntry is a number as the pool keeps it while it is free.
type PoolEntry struct {
	BizType string
	Period  string // "" but where numbers are issued again in their own period only
	SeqNo   string
	Score   float64 // the lowest is issued first
}

// PoolEntry is how the pool keeps the number. The score follows from the row alone, so that a pool
// which lost everything is rebuilt in the same order. A value above 2^53 is rounded: the order is a
// wish, the seq no is exact.
func (b BizType) PoolEntry(n Number) PoolEntry {
	e := PoolEntry{BizType: n.BizType, SeqNo: n.SeqNo, Score: float64(n.Value)}
	if b.Reuse == ReuseSamePeriod {
		e.Period = n.Period
	}
	if b.PoolOrder == PoolOrderOldest {
		e.Score = 0 // never handed out: it waits for nothing, and goes first
		if n.Life > 0 {
			e.Score = float64(n.AbandonedTime.UnixMicro())
		}
	}
	return e
}
