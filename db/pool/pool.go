package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Time limits of a call where the URL sets none: a pool that does not answer is a pool that is
// away, and nobody waits for it.
const (
	dialTimeout = time.Second
	callTimeout = time.Second
)

// SetLogger sends what the Redis client has to say beside the errors that it returns to log, at
// debug level. It holds for the whole process.
func SetLogger(log *slog.Logger) { redis.SetLogger(clientLog{log}) }

type clientLog struct{ log *slog.Logger }

// Printf is the client's call.
func (l clientLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, fmt.Sprintf(format, v...))
}

// Pool is the free numbers of all biz types. It is safe for concurrent use.
type Pool struct {
	client *redis.Client
}

// Open reads the URL (redis://[user:password@]host:port/database, or rediss:// for TLS) and prepares
// the connections; it does not connect. instrument, where given, is called with the client, e.g.
// to trace its commands.
func Open(url string, instrument ...func(*redis.Client) error) (*Pool, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		// The error may quote the URL, and with it the password.
		return nil, errors.New("pool: the URL is not of the form redis://[user:password@]host:port/database")
	}
	// A pop whose reply is lost has happened: the client must not repeat it unseen (C05). What
	// may be repeated is repeated by the callers, who know what that means.
	options.MaxRetries = -1
	options.DialerRetries = 1 // a pool that is away is away at once
	options.ContextTimeoutEnabled = true
	if options.DialTimeout == 0 {
		options.DialTimeout = dialTimeout
	}
	if options.ReadTimeout == 0 {
		options.ReadTimeout = callTimeout
	}
	if options.WriteTimeout == 0 {
		options.WriteTimeout = callTimeout
	}
	client := redis.NewClient(options)
	for _, f := range instrument {
		if err := f(client); err != nil {
			return nil, errors.Join(fmt.Errorf("pool: instrument the client: %w", err), client.Close())
		}
	}
	return &Pool{client: client}, nil
}

// Close ends the connections.
func (p *Pool) Close() error { return p.client.Close() }

// Ping answers whether Redis answers; the error is a sequence.UnavailableError.
func (p *Pool) Ping(ctx context.Context) error {
	return classify("ping", p.client.Ping(ctx).Err())
}

// Push puts numbers, of any biz types, into their pools. A number that is there already stays
// there once. On an error any part of them may have been pushed; pushing again is harmless.
func (p *Pool) Push(ctx context.Context, entries []sequence.PoolEntry) error {
	if len(entries) == 0 {
		return nil
	}
	members := map[string][]redis.Z{}
	for _, e := range entries {
		key := poolKey(e.BizType, e.Period)
		members[key] = append(members[key], redis.Z{Score: e.Score, Member: e.SeqNo})
	}
	_, err := p.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for key, m := range members {
			pipe.ZAdd(ctx, key, m...)
		}
		return nil
	})
	return classify(fmt.Sprintf("push %d numbers", len(entries)), err)
}

// Pop takes at most count numbers out of a biz type's pool, lowest score first. period is "" but where
// numbers are issued again in their own period only. An empty pool gives none and no error. On an
// error some may have left the pool unseen; their rows stay REPLAYABLE in the ledger.
func (p *Pool) Pop(ctx context.Context, bizType, period string, count int) ([]sequence.PoolEntry, error) {
	popped, err := p.client.ZPopMin(ctx, poolKey(bizType, period), int64(count)).Result()
	if err != nil {
		return nil, classify(fmt.Sprintf("pop %d numbers of %s", count, bizType), err)
	}
	entries := make([]sequence.PoolEntry, 0, len(popped))
	for _, z := range popped {
		if seqNo, ok := z.Member.(string); ok {
			entries = append(entries, sequence.PoolEntry{BizType: bizType, Period: period, SeqNo: seqNo, Score: z.Score})
		}
	}
	return entries, nil
}

// Remove takes numbers out of their pools where they are there, e.g. after a rescue.
func (p *Pool) Remove(ctx context.Context, entries []sequence.PoolEntry) error {
	if len(entries) == 0 {
		return nil
	}
	members := map[string][]any{}
	for _, e := range entries {
		key := poolKey(e.BizType, e.Period)
		members[key] = append(members[key], e.SeqNo)
	}
	_, err := p.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for key, m := range members {
			pipe.ZRem(ctx, key, m...)
		}
		return nil
	})
	return classify(fmt.Sprintf("remove %d numbers", len(entries)), err)
}

// Size counts the numbers in a biz type's pool; period as in Pop.
func (p *Pool) Size(ctx context.Context, bizType, period string) (int64, error) {
	n, err := p.client.ZCard(ctx, poolKey(bizType, period)).Result()
	return n, classify("count the pool of "+bizType, err)
}

// IsLoading reports whether Redis has been started and reads its data in: it will serve when that is done.
func IsLoading(err error) bool { return redis.HasErrorPrefix(err, "LOADING") }

// classify names what was tried. Whatever Redis answers instead of serving (away, read-only), the pool is
// away for the caller, and the cause tells which. Full memory is told by name, since a person must make room.
func classify(tried string, err error) error {
	if err == nil {
		return nil
	}
	what := "the pool is away: Redis does not serve"
	if redis.HasErrorPrefix(err, "OOM") {
		what = "the pool takes no numbers: Redis is out of memory (raise maxmemory, or make room)"
	}
	return &sequence.UnavailableError{What: what, Cause: fmt.Errorf("%s: %w", tried, err)}
}
