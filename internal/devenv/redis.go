package devenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
type Redis struct{ *Server }

// StartRedis runs the server and returns when it answers.
func StartRedis(ctx context.Context, b Binaries, config RedisConfig) (*Redis, error) {
	if err := os.MkdirAll(config.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make Redis's folder: %w", err)
	}
	spec := Spec{Name: "Redis", Path: b.Redis, Args: config.args(), Dir: config.Dir, Log: filepath.Join(config.Dir, "log")}
	server, err := startServer(ctx, spec, config.Port, config.ping)
	if err != nil {
		return nil, err
	}
	return &Redis{server}, nil
}

// args are the server's command line; its data is in the folder that it runs in.
func (c RedisConfig) args() []string {
	appendOnly := "no"
	if c.Persist {
		appendOnly = "yes"
	}
	return append([]string{
		"--port", strconv.Itoa(c.Port), "--bind", "127.0.0.1", "--daemonize", "no",
		"--save", "", "--appendonly", appendOnly, "--maxmemory-policy", "noeviction",
	}, c.Args...)
}

// ping asks who answers, too: it may be another server, that took the port first.
func (c RedisConfig) ping(ctx context.Context, child *Child) error {
	client := redis.NewClient(&redis.Options{Addr: Address(c.Port), MaxRetries: -1, DialTimeout: time.Second})
	defer client.Close() //nolint:errcheck // a connection of one command
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	info, err := client.Info(ctx, "server").Result()
	if err == nil && !strings.Contains(info, fmt.Sprintf("\nprocess_id:%d\r\n", child.Pid())) {
		err = fmt.Errorf("another server answers on port %d", c.Port)
	}
	return err
}

// URL names one of the server's databases, 16 unless Args say otherwise, for go-redis.
func (r *Redis) URL(database int) string { return fmt.Sprintf("redis://%s/%d", r.Address(), database) }
