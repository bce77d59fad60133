package issuer

import (
	"sync/atomic"
	"time"
)

// The bounds of a storm: when Temporal is so far behind that a number's own run would come too late to be
// of use, numbers are left to the patrol, which sees to thousands at once.
const (
	stormBegins = 10 * time.Second
	stormEnds   = 5 // at this part of it
)

// storm tells whether starts and wakes are behind.
type storm struct {
	issuer *Issuer
	begins atomic.Int64 // after how long a wait, in nanoseconds
	on     atomic.Bool
}

func newStorm(i *Issuer) *storm {
	s := &storm{issuer: i}
	s.begins.Store(int64(stormBegins))
	return s
}

// rages looks at the queues now. A storm that began goes on until they are nearly empty.
func (s *storm) rages() bool {
	i := s.issuer
	lag := max(i.starts.Lag(), i.wakes.Lag())
	switch was := s.on.Load(); {
	case !was && int64(lag) > s.begins.Load() && s.on.CompareAndSwap(false, true):
		i.log.Warn("Temporal is behind; numbers are left to the patrol until it has caught up",
			"lag", lag.Round(time.Second), "starts", i.starts.Waiting(), "wakes", i.wakes.Waiting())
	case was && int64(lag) < s.begins.Load()/stormEnds && s.on.CompareAndSwap(true, false):
		i.log.Info("Temporal has caught up; numbers have runs of their own again")
	}
	return s.on.Load()
}
