package devenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisConfig says where a Redis server runs.
type RedisConfig struct {
	Dir     string // its data and log; made on first use
	Port    int
	Persist bool // keep the data over a restart
	// Args are added to the server's command line.
	Args []string
}

// Redis is a running server.
type Redis struct {
	*Child
	config RedisConfig
}

// StartRedis runs the server and returns when it answers.
func StartRedis(ctx context.Context, b Binaries, config RedisConfig) (*Redis, error) {
	if err := os.MkdirAll(config.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make Redis's folder: %w", err)
	}
	appendOnly := "no"
	if config.Persist {
		appendOnly = "yes"
	}
	child, err := Start(Spec{Name: "Redis", Path: b.Redis, Log: filepath.Join(config.Dir, "log"), Args: append([]string{
		"--port", strconv.Itoa(config.Port), "--bind", "127.0.0.1", "--dir", config.Dir, "--daemonize", "no",
		"--save", "", "--appendonly", appendOnly, "--maxmemory-policy", "noeviction",
	}, config.Args...)})
	if err != nil {
		return nil, err
	}
	r := &Redis{Child: child, config: config}
	if err := child.AwaitReady(ctx, r.ping); err != nil {
		return nil, fmt.Errorf("%w\n(data folder %s; `make clean-dev` forgets it)", err, config.Dir)
	}
	return r, nil
}

// URL names one of the server's 16 databases, for go-redis.
func (r *Redis) URL(database int) string {
	return fmt.Sprintf("redis://%s/%d", Address(r.config.Port), database)
}

func (r *Redis) ping(ctx context.Context) error {
	client := redis.NewClient(&redis.Options{Addr: Address(r.config.Port), MaxRetries: -1, DialTimeout: time.Second})
	defer client.Close() //nolint:errcheck // a connection of one command
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return client.Ping(ctx).Err()
}
