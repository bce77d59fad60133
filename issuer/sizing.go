package issuer

import "time"

// sizing is how many numbers of a kind are kept in memory. It follows their use: doubled when a refill
// lasted less than the target, halved for every time that it lasted more than twice as long.
type sizing struct {
	size   int
	target time.Duration
	filled time.Time
}

// next gives the size for a refill now, from lo to hi.
func (s *sizing) next(now time.Time, lo, hi int) int {
	if !s.filled.IsZero() {
		lasted := now.Sub(s.filled)
		if lasted < s.target {
			s.size *= 2
		}
		for ; lasted > 2*s.target && s.size > lo; lasted /= 2 {
			s.size /= 2
		}
	}
	s.size, s.filled = min(max(s.size, lo), hi), now
	return s.size
}
