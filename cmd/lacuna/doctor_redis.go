package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/lacuna-seq/lacuna/db/pool"
)

// checkRedis looks at the pool's server where LACUNA_REDIS_URL is set.
func checkRedis(ctx context.Context, _ *seen) []checked {
	url := os.Getenv("LACUNA_REDIS_URL")
	if url == "" {
		return []checked{{What: "redis", Verdict: skipped, Seen: "LACUNA_REDIS_URL is not set"}}
	}
	pool.SetLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	p, err := pool.Open(url)
	if err != nil {
		return []checked{failure("redis", fmt.Errorf("LACUNA_REDIS_URL: %w", err), "write it as redis://host:port/0")}
	}
	defer p.Close() //nolint:errcheck // every command has ended
	if err := p.Ping(ctx); err != nil {
		return []checked{failure("redis", err, "see whether Redis lives, and the way to it; until then no free number is issued again")}
	}
	policy, err := p.EvictionPolicy(ctx)
	if err != nil {
		return []checked{failure("redis", err, "")}
	}
	return []checked{redisCheck(policy)}
}

func redisCheck(policy string) checked {
	switch {
	case policy == "":
		return checked{"redis", warning, "it answers, and does not say its maxmemory-policy", "make sure that it is noeviction"}
	case pool.MayEvict(policy):
		return checked{"redis", wrong, "maxmemory-policy " + policy + ": it throws pools away when its memory is full", "set maxmemory-policy noeviction, then lacuna pool check"}
	}
	return checked{What: "redis", Verdict: ok, Seen: "it answers, maxmemory-policy " + policy}
}
