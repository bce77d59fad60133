package testkit

import (
	"context"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/devenv"
)

// redisDatabases is how many tests of a process may use Redis before databases are used again.
const redisDatabases = 1000

// Redis gives the URL of an empty database that no other test of the process uses.
func Redis(t testing.TB) string {
	t.Helper()
	url := servers.redis.get(t, "redis", redisStarter(false)).URL(int(servers.databases.Add(1) % redisDatabases))
	options, err := redis.ParseURL(url)
	require.NoError(t, err)
	client := redis.NewClient(options)
	defer client.Close() //nolint:errcheck // a connection of one command
	require.NoError(t, client.FlushDB(context.Background()).Err())
	return url
}

// OwnRedis starts a server for this test alone, which keeps its data over a restart.
func OwnRedis(t testing.TB) *devenv.Redis {
	t.Helper()
	return own(t, redisStarter(true))
}

// ForgetfulRedis starts a server for this test alone, which has lost its data after a restart.
func ForgetfulRedis(t testing.TB) *devenv.Redis {
	t.Helper()
	return own(t, redisStarter(false))
}

func redisStarter(persist bool) starter[*devenv.Redis] {
	return func(ctx context.Context, b devenv.Binaries, dir string, port int) (*devenv.Redis, error) {
		return devenv.StartRedis(ctx, b, devenv.RedisConfig{
			Dir: dir, Port: port, Persist: persist, Args: []string{"--databases", strconv.Itoa(redisDatabases)},
		})
	}
}
