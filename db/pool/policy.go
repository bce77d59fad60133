package pool

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// EvictionPolicy is what Redis does when its memory is full: its maxmemory-policy. It is empty where the server
// does not say, as some managed ones do; CONFIG would be refused by more of them than INFO is.
func (p *Pool) EvictionPolicy(ctx context.Context) (string, error) {
	info, err := p.client.Info(ctx, "memory").Result()
	var refused redis.Error
	if errors.As(err, &refused) {
		return "", nil
	}
	if err != nil {
		return "", classify("read the maxmemory-policy", err)
	}
	for line := range strings.Lines(info) {
		if policy, ok := strings.CutPrefix(line, "maxmemory_policy:"); ok {
			return strings.TrimSpace(policy), nil
		}
	}
	return "", nil
}

// MayEvict says whether a Redis of that maxmemory-policy throws pools away when its memory is full. Policies
// that evict only keys with an expiry are harmless: pools have none.
func MayEvict(policy string) bool { return strings.HasPrefix(policy, "allkeys-") }
