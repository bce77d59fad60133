package console

import (
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bounds of failed sign-ins. A token cannot be guessed at any rate; this keeps those who try from filling the log.
const (
	failuresAtOnce = 10
	failuresEvery  = 6 * time.Second // one more
	maxAddresses   = 10_000          // that are remembered
)

// attempts counts sign-ins that failed, by address. Behind a balancer all have one address, so those that succeed
// are not counted.
type attempts struct {
	mu        sync.Mutex
	byAddress map[string]*rate.Limiter
}

func newAttempts() *attempts { return &attempts{byAddress: map[string]*rate.Limiter{}} }

// blocked reports whether the address has failed too often.
func (a *attempts) blocked(remote string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	limiter := a.byAddress[host(remote)]
	return limiter != nil && limiter.Tokens() < 1
}

func (a *attempts) failed(remote string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	limiter := a.byAddress[host(remote)]
	if limiter == nil {
		if len(a.byAddress) >= maxAddresses {
			a.forget()
		}
		limiter = rate.NewLimiter(rate.Every(failuresEvery), failuresAtOnce)
		a.byAddress[host(remote)] = limiter
	}
	limiter.Allow()
}

// forget drops those that have not failed for a while, or all where there are none.
func (a *attempts) forget() {
	for address, limiter := range a.byAddress {
		if limiter.Tokens() >= failuresAtOnce {
			delete(a.byAddress, address)
		}
	}
	if len(a.byAddress) >= maxAddresses {
		clear(a.byAddress)
	}
}

func host(remote string) string {
	if h, _, err := net.SplitHostPort(remote); err == nil {
		return h
	}
	return remote
}
