package sequence

import (
	"math"
	"sort"
	"strconv"
	"time"
)

// DelayKind is which delay of a number's life is counted, for advice on the timing of its biz type.
type DelayKind int8

const (
	// DelayConfirmed is from the hand-out to the confirm of a life that was not given up before.
	DelayConfirmed DelayKind = iota + 1
	// DelayLate is from the abandonment of a life to a confirm of it.
	DelayLate
	// DelayAbandoned is from the hand-out to the abandonment. Each of them begins a safety window.
	DelayAbandoned
)

// DelayKinds lists every kind.
var DelayKinds = [...]DelayKind{DelayConfirmed, DelayLate, DelayAbandoned}

// String is the kind in capitals, as the ledger has it.
func (k DelayKind) String() string {
	switch k {
	case DelayConfirmed:
		return "CONFIRMED"
	case DelayLate:
		return "LATE"
	case DelayAbandoned:
		return "ABANDONED"
	}
	return "DELAY_" + strconv.Itoa(int(k))
}

// DelayOf is the delay that a decision on a row ended; false where it ended none. A late confirm
// that met a conflict changes no row, and is not among them.
func DelayOf(was Number, d Decision) (DelayKind, time.Duration, bool) {
	is := d.Number
	confirmed := (d.Outcome == OutcomeConfirmed || d.Outcome == OutcomeRescued) && !is.LifeUnsure // whose times are not known
	switch {
	case confirmed && is.AbandonedTime.IsZero():
		return DelayConfirmed, is.ConfirmedTime.Sub(is.IssuedTime), true
	case confirmed:
		return DelayLate, is.ConfirmedTime.Sub(is.AbandonedTime), true
	case was.State != Abandoned && is.State == Abandoned && is.AbandonedTime != was.AbandonedTime:
		return DelayAbandoned, is.AbandonedTime.Sub(is.IssuedTime), true
	}
	return 0, 0, false
}

// Buckets of delays. Each is an eighth of a doubling wide, so that its bound is at most 10 % more than
// any delay in it.
const (
	// DelayBuckets is how many there are: up to 1 ms, and from there to MaxDelay.
	DelayBuckets = 252
	// MaxDelay bounds the last one, which takes what is longer as well: no window is set any longer.
	MaxDelay = MaxSafetyWindow

	bucketsPerDoubling = 8
)

// delayBounds are the longest delays of the buckets, in whole microseconds, as the database counts.
var delayBounds = func() (bounds [DelayBuckets]time.Duration) {
	for i := range bounds {
		microseconds := math.Round(1000 * math.Pow(2, float64(i)/bucketsPerDoubling))
		bounds[i] = min(time.Duration(microseconds)*time.Microsecond, MaxDelay)
	}
	return bounds
}()

// DelayBucket is the bucket of a delay, from 0. One below 0, by a clock that was set back, counts as 0.
func DelayBucket(d time.Duration) int {
	return sort.Search(DelayBuckets-1, func(i int) bool { return d <= delayBounds[i] })
}

// DelayBound is the longest delay of a bucket, but for the last one, which has none.
func DelayBound(bucket int) time.Duration { return delayBounds[bucket] }

// DelayCounts is how many delays fell into each bucket.
type DelayCounts [DelayBuckets]int64

// Add counts one delay.
func (c *DelayCounts) Add(d time.Duration) { c[DelayBucket(d)]++ }

// Count is how many delays there are.
func (c *DelayCounts) Count() (n int64) {
	for _, count := range c {
		n += count
	}
	return n
}

// Quantile is the bound of the bucket in which the share q of all delays is reached, q from 0 to 1; 0
// where there are none. So it is at most 10 % above the true one, and never below it, but that MaxDelay
// stands for what is longer as well.
func (c *DelayCounts) Quantile(q float64) time.Duration {
	need := max(1, int64(math.Ceil(q*float64(c.Count()))))
	for bucket, count := range c {
		if need -= count; need <= 0 {
			return delayBounds[bucket]
		}
	}
	return 0
}

// After is how many delays may have been longer than d: all of a bucket whose bound is, and all of the last.
func (c *DelayCounts) After(d time.Duration) (n int64) {
	for bucket, count := range c {
		if delayBounds[bucket] > d || bucket == DelayBuckets-1 {
			n += count
		}
	}
	return n
}
