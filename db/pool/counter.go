package pool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/take.lua
var takeSource string

var takeScript = redis.NewScript(takeSource)

// Take takes count consecutive values off the biz type's counter, from lo on, all above floor: a
// counter that is lower, or gone, is raised to it first. It never goes back. On an error, a
// sequence.UnavailableError, the values may have been taken all the same; nobody else is given them.
func (p *Pool) Take(ctx context.Context, bizType string, floor int64, count int) (lo int64, err error) {
	last, err := takeScript.Run(ctx, p.client, []string{counterKey(bizType)}, floor, count).Text()
	if err != nil {
		return 0, classify(fmt.Sprintf("take %d values of %s", count, bizType), err)
	}
	hi, err := strconv.ParseInt(last, 10, 64)
	if err != nil {
		return 0, classify("read the counter of "+bizType, err)
	}
	return hi - int64(count) + 1, nil
}

// Last gives the highest value that was taken off the biz type's counter; 0 where there is none. The error is a
// sequence.UnavailableError.
func (p *Pool) Last(ctx context.Context, bizType string) (int64, error) {
	last, err := p.client.Get(ctx, counterKey(bizType)).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return last, classify("read the counter of "+bizType, err)
}
