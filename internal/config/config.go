// Package config is the settings of the processes: environment variables, each also a flag.
//
// Starter, Worker and Migrate are the settings of one process each; Parse reads them and reports
// all faults at once, each with its key. What may hold a password is a secret: it appears in no
// error and no log line.
//
// The mains parse them; Temporal's own TEMPORAL_* variables are read by its SDK's envconfig.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/lacuna-seq/lacuna/internal/buildinfo"
)

// Ledger is how to reach the ledger.
type Ledger struct {
	DSN string `name:"mysql-dsn" env:"LACUNA_MYSQL_DSN" placeholder:"user:password@tcp(host:port)/database" help:"The ledger, a MySQL 8.0.16+ or MariaDB 10.6+ database."`
}

// Servers is how to reach the servers that the starter and the worker work with.
type Servers struct {
	Ledger
	RedisURL string `name:"redis-url" env:"LACUNA_REDIS_URL" placeholder:"redis://host:port/0" help:"The pool of free numbers."`
}

// Process is what every serving process has.
type Process struct {
	LogLevel  string `name:"log-level" env:"LACUNA_LOG_LEVEL" default:"info" help:"debug, info, warn or error."`
	LogFormat string `name:"log-format" env:"LACUNA_LOG_FORMAT" default:"text" help:"text or json."`

	Version kong.VersionFlag `name:"version" help:"Print the version, the commit and its date."`
}

// Starter is the settings of the API server.
type Starter struct {
	Servers
	Process
	Listen        string        `name:"listen" env:"LACUNA_LISTEN" default:":8080" help:"Where the API listens."`
	OpsListen     string        `name:"ops-listen" env:"LACUNA_OPS_LISTEN" default:":8081" help:"Where health and metrics are served."`
	Access        string        `name:"access" env:"LACUNA_ACCESS" default:"token" enum:"token,open" help:"Who may call the API: whoever holds a token, or, for experiments, everybody (open)."`
	TLSCert       string        `name:"tls-cert" env:"LACUNA_TLS_CERT" placeholder:"file" help:"The API's certificate with its chain, PEM; read again when it changes. Without one the API is plain HTTP."`
	TLSKey        string        `name:"tls-key" env:"LACUNA_TLS_KEY" placeholder:"file" help:"Its key, PEM."`
	Lease         time.Duration `name:"lease" env:"LACUNA_LEASE" default:"15s" help:"How long this process may hand out numbers after the ledger last heard of it; 2s to 15s."`
	TemporalUIURL string        `name:"temporal-ui-url" env:"LACUNA_TEMPORAL_UI_URL" placeholder:"http://host:port" help:"The Temporal UI, for links to the runs of numbers."`
}

// Worker is the settings of the Temporal worker.
type Worker struct {
	Servers
	Process
	OpsListen     string            `name:"ops-listen" env:"LACUNA_OPS_LISTEN" default:":8082" help:"Where health and metrics are served."`
	TemporalUIURL string            `name:"temporal-ui-url" env:"LACUNA_TEMPORAL_UI_URL" placeholder:"http://host:port" help:"The Temporal UI, for links to the runs of numbers."`
	AlertURL      string            `name:"alert-url" env:"LACUNA_ALERT_URL" placeholder:"https://host/path" help:"The webhook that alerts are posted to; without one they are error lines in the log."`
	AlertFormat   string            `name:"alert-format" env:"LACUNA_ALERT_FORMAT" default:"json" enum:"json,slack,feishu,dingtalk" help:"How the webhook wants them: json, slack, feishu or dingtalk."`
	PatrolEvery   time.Duration     `name:"patrol-every" env:"LACUNA_PATROL_EVERY" default:"5s" help:"How often the patrol looks for numbers that nobody sees to; 1s to 1m. The worker that was started last sets it."`
	PatrolBatch   int               `name:"patrol-batch" env:"LACUNA_PATROL_BATCH" default:"500" help:"How many numbers the patrol reads and writes at a time; 1 to 500."`
	WorkflowCache int               `name:"workflow-cache" env:"LACUNA_WORKFLOW_CACHE" default:"2000" help:"How many runs that have begun the worker keeps in memory; the others are read again when something happens. 1 to 100000."`
	ProbeDSNs     map[string]string `name:"probe-dsns" env:"LACUNA_PROBE_DSNS" mapsep:";" placeholder:"name=user:password@tcp(host:port)/database;…" help:"The business's databases, by the names that biz types' probes use; read-only users."`
}

// Validate reports all faults, joined.
func (l Ledger) Validate() error {
	switch {
	case l.DSN == "":
		return fault("LACUNA_MYSQL_DSN", "is missing: user:password@tcp(host:port)/database")
	case !strings.Contains(l.DSN, "@") || !strings.Contains(l.DSN, ")/"):
		return fault("LACUNA_MYSQL_DSN", "is not of the form user:password@tcp(host:port)/database")
	}
	return nil
}

// Validate reports all faults, joined.
func (s Servers) Validate() error {
	return errors.Join(s.Ledger.Validate(), validateURL("LACUNA_REDIS_URL", s.RedisURL, true, "redis", "rediss"))
}

// Validate reports all faults, joined.
func (p Process) Validate() error {
	var level slog.Level
	var faults []error
	if err := level.UnmarshalText([]byte(p.LogLevel)); err != nil {
		faults = append(faults, fault("LACUNA_LOG_LEVEL", "%q is not debug, info, warn or error", p.LogLevel))
	}
	if p.LogFormat != "text" && p.LogFormat != "json" {
		faults = append(faults, fault("LACUNA_LOG_FORMAT", "%q is neither text nor json", p.LogFormat))
	}
	return errors.Join(faults...)
}

// Validate reports all faults, joined.
func (s Starter) Validate() error {
	lease := validateRange("LACUNA_LEASE", s.Lease, 2*time.Second, 15*time.Second) // the patience of runs and of the patrol is made for that
	var pair error
	if (s.TLSCert == "") != (s.TLSKey == "") {
		pair = fault("LACUNA_TLS_CERT, LACUNA_TLS_KEY", "belong together: one of them is missing")
	}
	return errors.Join(s.Servers.Validate(), s.Process.Validate(), lease, pair, validateAddress("LACUNA_LISTEN", s.Listen),
		validateAddress("LACUNA_OPS_LISTEN", s.OpsListen), validateURL("LACUNA_TEMPORAL_UI_URL", s.TemporalUIURL, false, "http", "https"))
}

// Validate reports all faults, joined.
func (w Worker) Validate() error {
	return errors.Join(w.Servers.Validate(), w.Process.Validate(), validateAddress("LACUNA_OPS_LISTEN", w.OpsListen),
		validateRange("LACUNA_PATROL_EVERY", w.PatrolEvery, time.Second, time.Minute), validateRange("LACUNA_PATROL_BATCH", w.PatrolBatch, 1, 500),
		validateRange("LACUNA_WORKFLOW_CACHE", w.WorkflowCache, 1, 100_000),
		validateURL("LACUNA_TEMPORAL_UI_URL", w.TemporalUIURL, false, "http", "https"), validateURL("LACUNA_ALERT_URL", w.AlertURL, false, "http", "https"))
}

func validateRange[T cmp.Ordered](key string, value, least, most T) error {
	if value < least || value > most {
		return fault(key, "%v is not from %v to %v", value, least, most)
	}
	return nil
}

func validateAddress(key, address string) error {
	if _, err := net.ResolveTCPAddr("tcp", address); err != nil {
		return fault(key, "%q is not of the form [host]:port", address)
	}
	return nil
}

// validateURL keeps the URL itself, which may hold a password, out of the message.
func validateURL(key, value string, required bool, schemes ...string) error {
	form := strings.Join(schemes, ":// or ") + "://host:port"
	if value == "" {
		if required {
			return fault(key, "is missing: %s", form)
		}
		return nil
	}
	u, err := url.Parse(value)
	if err == nil && u.Host != "" {
		for _, scheme := range schemes {
			if u.Scheme == scheme {
				return nil
			}
		}
	}
	return fault(key, "is not of the form %s", form)
}

func fault(key, format string, args ...any) error {
	return fmt.Errorf("%s %s", key, fmt.Sprintf(format, args...))
}

// Parse reads args and the environment into settings, a pointer to one of this package's structs.
func Parse(name, description string, args []string, settings any) error {
	parser, err := kong.New(settings, kong.Name(name), kong.Description(description), kong.Vars{"version": name + " " + buildinfo.Read().String()})
	if err != nil {
		return err
	}
	_, err = parser.Parse(args)
	// Kong calls Validate of every part by itself; its error names the part once more.
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%w\nSee %s --help", errors.Unwrap(parse), name)
	}
	return err
}
