package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/client"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/devenv"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// Bounds of the start and the stop.
const (
	startTimeout = time.Minute
	stopBudget   = 40 * time.Second
)

// system is everything that runs.
type system struct {
	settings settings
	progress *progress
	binaries devenv.Binaries
	keeper   *devenv.Supervisor
	shop     *devenv.Child
	token    string
}

func newSystem(s settings, out io.Writer) *system {
	y := &system{settings: s, progress: &progress{out: out}}
	y.keeper = devenv.NewSupervisor(y.progress.tell)
	return y
}

// run starts everything, says where it is, and stops it in order when ctx ends.
func (y *system) run(ctx context.Context) error {
	y.progress.say("Lacuna, data in %s. Ctrl-C stops it; nothing is lost.\n", y.settings.Dir)
	err := y.start(ctx)
	if err == nil {
		err = y.serve(ctx)
	}
	y.progress.say("\nStopping.")
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBudget)
	defer cancel()
	if y.shop != nil {
		err = errors.Join(err, y.shop.Stop(stopping))
	}
	err = errors.Join(err, y.keeper.Stop(stopping))
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // it was asked to stop while it started
	}
	y.progress.say("Stopped.")
	return err
}

// shopEnded is that the shop ended in a way of its own, which it has said; with --once its exit code is the program's.
type shopEnded struct{ code int }

func (e shopEnded) Error() string { return fmt.Sprintf("the demo shop ended (exit %d)", e.code) }

func ended(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return shopEnded{exit.ExitCode()}
	}
	return err
}

// serve waits until it is asked to stop, a part cannot be kept running, or, with --once, the shop ends.
func (y *system) serve(ctx context.Context) error {
	var shopDone <-chan struct{}
	if y.shop != nil {
		shopDone = y.shop.Done()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-y.keeper.Failed():
			return err
		case <-shopDone:
			if y.settings.Once {
				return ended(y.shop.ExitError())
			}
			y.progress.say("\nThe shop's traffic is over; the system goes on until Ctrl-C.")
			shopDone = nil
		}
	}
}

func (y *system) start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, step := range []struct {
		name string
		f    func(context.Context) (string, error)
	}{
		{"servers", y.find},
		{"programs", y.build},
		{"MariaDB", y.startMariaDB},
		{"Redis", y.startRedis},
		{"Temporal", y.startTemporal},
		{"tables", y.migrate},
		{"biz types", y.seed},
		{"token", y.makeToken},
		{"worker", y.startWorker},
		{"starter", y.startStarter},
	} {
		if err := y.progress.step(step.name, func() (string, error) { return step.f(ctx) }); err != nil {
			return err
		}
	}
	if err := y.introduce(ctx); err != nil {
		return err
	}
	if y.settings.Demo {
		return y.startShop()
	}
	return nil
}

func (y *system) find(ctx context.Context) (string, error) {
	if err := y.settings.checkPorts(); err != nil {
		return "", err
	}
	var err error
	y.binaries, err = devenv.Find(ctx, y.settings.Dir, y.progress.tell)
	return "found", err
}

func (y *system) build(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=auto", "-o", y.settings.path("bin")+string(filepath.Separator),
		"./starter", "./worker", "./cmd/lacuna", "./deploy/demo").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return "built", os.MkdirAll(y.settings.path("log"), 0o755)
}

func (y *system) startMariaDB(ctx context.Context) (string, error) {
	var server *devenv.MariaDB
	_, err := y.keeper.Add(ctx, func(ctx context.Context) (child *devenv.Child, err error) {
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		config := devenv.MariaDBConfig{Dir: y.settings.path("mariadb"), Port: y.settings.MariaDBPort, Password: password}
		if server, err = devenv.StartMariaDB(ctx, y.binaries, config); err != nil {
			return nil, err
		}
		return server.Child, nil
	})
	if err != nil {
		return "", err
	}
	err = errors.Join(server.CreateDatabase(ctx, ledgerDatabase), server.CreateDatabase(ctx, shopDatabase), server.CreateDatabase(ctx, ownDatabase))
	return devenv.Address(y.settings.MariaDBPort), err
}

func (y *system) startRedis(ctx context.Context) (string, error) {
	_, err := y.keeper.Add(ctx, func(ctx context.Context) (*devenv.Child, error) {
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		server, err := devenv.StartRedis(ctx, y.binaries, devenv.RedisConfig{Dir: y.settings.path("redis"), Port: y.settings.RedisPort, Persist: true})
		if err != nil {
			return nil, err
		}
		return server.Child, nil
	})
	return devenv.Address(y.settings.RedisPort), err
}

func (y *system) startTemporal(ctx context.Context) (string, error) {
	_, err := y.keeper.Add(ctx, func(ctx context.Context) (*devenv.Child, error) {
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		server, err := devenv.StartTemporal(ctx, y.binaries, devenv.TemporalConfig{
			Dir: y.settings.path("temporal"), Port: y.settings.TemporalPort, UIPort: y.settings.TemporalUIPort, Persist: true,
			SearchAttributes: workflows.SearchAttributes(),
		})
		if err != nil {
			return nil, err
		}
		return server.Child, nil
	})
	return devenv.Address(y.settings.TemporalPort) + ", UI " + y.uiURL(), err
}

func (y *system) dsn(database string) string {
	return fmt.Sprintf("lacuna:%s@tcp(%s)/%s", password, devenv.Address(y.settings.MariaDBPort), database)
}

func (y *system) redisURL() string {
	return fmt.Sprintf("redis://%s/0", devenv.Address(y.settings.RedisPort))
}
func (y *system) apiURL() string { return "http://" + devenv.Address(y.settings.APIPort) }
func (y *system) uiURL() string  { return "http://" + devenv.Address(y.settings.TemporalUIPort) }

func (y *system) migrate(ctx context.Context) (string, error) {
	l, err := ledger.Open(y.dsn(ledgerDatabase))
	if err != nil {
		return "", err
	}
	defer l.Close() //nolint:errcheck // every statement has ended
	applied, err := migrations.Up(ctx, l.DB())
	return fmt.Sprintf("%d migrations applied", len(applied)), err
}

// seed makes the biz types that the README speaks of, where they are missing.
func (y *system) seed(ctx context.Context) (string, error) {
	l, err := ledger.Open(y.dsn(ledgerDatabase))
	if err != nil {
		return "", err
	}
	defer l.Close() //nolint:errcheck // every statement has ended
	for _, b := range []struct {
		name, format           string
		confirmTimeout, safety time.Duration
	}{
		{"ORDER", "A-{seq:6}", sequence.DefaultConfirmTimeout, sequence.DefaultSafetyWindow},
		{"DEMO", "D-{seq:6}", 10 * time.Second, 5 * time.Second},
	} {
		format, err := sequence.ParseFormat(b.format)
		if err != nil {
			return "", err
		}
		bizType := sequence.NewBizType(b.name, format)
		bizType.ConfirmTimeout, bizType.SafetyWindow = b.confirmTimeout, b.safety
		if err := l.CreateBizType(ctx, bizType); err != nil && !errors.Is(err, ledger.ErrExists) {
			return "", err
		}
	}
	return "ORDER (15 min, window 120 s), DEMO (10 s, window 5 s)", nil
}

func (y *system) startWorker(ctx context.Context) (string, error) {
	return y.startProgram(ctx, "worker", y.settings.WorkerOpsPort)
}

func (y *system) startStarter(ctx context.Context) (string, error) {
	return y.startProgram(ctx, "starter", y.settings.OpsPort)
}

// startProgram runs one of ours and waits until it is ready.
func (y *system) startProgram(ctx context.Context, name string, opsPort int) (string, error) {
	ops := devenv.Address(opsPort)
	spec := devenv.Spec{Name: "the " + name, Path: y.settings.path("bin", name), Log: y.settings.path("log", name+".log"), Env: []string{
		"LACUNA_MYSQL_DSN=" + y.dsn(ledgerDatabase), "LACUNA_REDIS_URL=" + y.redisURL(),
		"LACUNA_LISTEN=" + devenv.Address(y.settings.APIPort), "LACUNA_OPS_LISTEN=" + ops, "LACUNA_TEMPORAL_UI_URL=" + y.uiURL(),
		"TEMPORAL_ADDRESS=" + devenv.Address(y.settings.TemporalPort), "TEMPORAL_NAMESPACE=" + devenv.TemporalNamespace,
	}}
	child, err := y.keeper.Add(ctx, func(context.Context) (*devenv.Child, error) { return devenv.Start(spec) })
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = child.AwaitReady(ctx, func(ctx context.Context) error { return ready(ctx, "http://"+ops+"/readyz") })
	detail := "metrics http://" + ops + "/metrics"
	if name == "starter" {
		detail = y.apiURL() + ", " + detail
	}
	return detail, err
}

func ready(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // only its status counts
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// introduce takes a number, so that there is a lifecycle to look at, and says what to try.
func (y *system) introduce(ctx context.Context) error {
	c, err := client.Dial(y.apiURL(), client.WithToken(y.token))
	if err != nil {
		return err
	}
	defer c.Close(ctx) //nolint:errcheck // nothing is left to say
	n, err := c.Next(ctx, "DEMO", client.ForBizKey("a-first-look"))
	if err != nil {
		return fmt.Errorf("take a first number: %w", err)
	}
	service, header := y.apiURL()+"/lacuna.v1.SequenceService", near(y.headerFile())
	y.progress.say(`
API           %s
Console       %s/    (sign in with the token in %s)
Temporal UI   %s
A lifecycle   %s

Try, and look at the lifecycle after each (the file holds an admin's token for this machine):

  curl -s -H @%s %s/Next -H 'Content-Type: application/json' -d '{"bizType":"ORDER","bizKey":"cart-1"}'
  curl -s -H @%s %s/Abandon -H 'Content-Type: application/json' -d '{"ticket":"ORDER~A-000001~1"}'
  curl -s -H @%s %s/Get -H 'Content-Type: application/json' -d '{"bizType":"ORDER","seqNo":"A-000001"}'

  export LACUNA_TOKEN_FILE=%s LACUNA_API=%s    # for %s
  export LACUNA_MYSQL_DSN='%s' LACUNA_REDIS_URL=%s TEMPORAL_ADDRESS=%s    # and for its look at the servers
  '%s' is an empty database for a service of yours
`, y.apiURL(), y.apiURL(), near(y.tokenFile()), y.uiURL(), y.uiURL()+"/namespaces/"+devenv.TemporalNamespace+"/workflows/"+n.Ticket, header, service, header, service, header, service,
		near(y.tokenFile()), y.apiURL(), near(y.settings.path("bin", "lacuna")), y.dsn(ledgerDatabase), y.redisURL(), devenv.Address(y.settings.TemporalPort), y.dsn(ownDatabase))
	return nil
}

// startShop runs the demo shop, whose output is this terminal's.
func (y *system) startShop() error {
	var err error
	y.shop, err = devenv.Start(devenv.Spec{
		Name: "the demo shop", Path: y.settings.path("bin", "demo"), Output: os.Stdout,
		Args: []string{"--events", y.settings.Events, "--speed", fmt.Sprint(y.settings.Speed)},
		Env: []string{
			"LACUNA_URL=" + y.apiURL(), "LACUNA_SHOP_DSN=" + y.dsn(shopDatabase), "LACUNA_MYSQL_DSN=" + y.dsn(ledgerDatabase),
			"LACUNA_TOKEN_FILE=" + y.tokenFile(),
		},
	})
	return err
}
