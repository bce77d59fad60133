package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/lacuna-seq/lacuna/internal/devenv"
)

// settings are flags, each also an environment variable. Everything listens on loopback.
type settings struct {
	Dir            string `name:"dir" env:"LACUNA_DEV_DIR" default:".dev" help:"Where data, logs and binaries are kept."`
	MariaDBPort    int    `name:"mariadb-port" env:"LACUNA_DEV_MARIADB_PORT" default:"13306"`
	RedisPort      int    `name:"redis-port" env:"LACUNA_DEV_REDIS_PORT" default:"16379"`
	TemporalPort   int    `name:"temporal-port" env:"LACUNA_DEV_TEMPORAL_PORT" default:"7233"`
	TemporalUIPort int    `name:"temporal-ui-port" env:"LACUNA_DEV_TEMPORAL_UI_PORT" default:"8233"`
	APIPort        int    `name:"api-port" env:"LACUNA_DEV_API_PORT" default:"8080"`
	OpsPort        int    `name:"ops-port" env:"LACUNA_DEV_OPS_PORT" default:"8081" help:"Health and metrics of the starter."`
	WorkerOpsPort  int    `name:"worker-ops-port" env:"LACUNA_DEV_WORKER_OPS_PORT" default:"8082" help:"Health and metrics of the worker."`

	Demo   bool    `name:"demo" env:"DEMO" default:"true" negatable:"" help:"Run the demo shop."`
	Events string  `name:"events" env:"EVENTS" default:"deploy/demo/events-short.csv" help:"The shop's traffic."`
	Speed  float64 `name:"speed" env:"SPEED" default:"1" help:"How much faster than recorded the shop's traffic is replayed."`
	Once   bool    `name:"once" help:"End when the shop has, with its exit code."`
	Forget bool    `name:"forget" help:"Remove the data and the token instead, if nothing runs there."`
}

// password is that of a database which only this machine reaches.
const password = "lacuna"

// The databases of the ledger, of the demo shop, and of whoever follows docs/getting-started.md, on one server.
const (
	ledgerDatabase = "lacuna"
	shopDatabase   = "lacuna_shop"
	ownDatabase    = "shop"
)

func (s settings) path(parts ...string) string {
	return filepath.Join(append([]string{s.Dir}, parts...)...)
}

// forget removes the data and the token. Binaries stay.
func (s settings) forget() error {
	var errs []error
	for _, what := range []string{"mariadb", "redis", "temporal", "log", "token", "header"} {
		errs = append(errs, os.RemoveAll(s.path(what)))
	}
	return errors.Join(errs...)
}

// checkPorts returns the first port that is in use, before anything is started.
func (s settings) checkPorts() error {
	for _, p := range []struct {
		name string
		port int
		flag string
	}{
		{"MariaDB", s.MariaDBPort, "LACUNA_DEV_MARIADB_PORT"},
		{"Redis", s.RedisPort, "LACUNA_DEV_REDIS_PORT"},
		{"Temporal", s.TemporalPort, "LACUNA_DEV_TEMPORAL_PORT"},
		{"the Temporal UI", s.TemporalUIPort, "LACUNA_DEV_TEMPORAL_UI_PORT"},
		{"the API", s.APIPort, "LACUNA_DEV_API_PORT"},
		{"the starter's metrics", s.OpsPort, "LACUNA_DEV_OPS_PORT"},
		{"the worker's metrics", s.WorkerOpsPort, "LACUNA_DEV_WORKER_OPS_PORT"},
	} {
		if err := devenv.CheckPort(p.name, p.port, p.flag); err != nil {
			return err
		}
	}
	return nil
}
