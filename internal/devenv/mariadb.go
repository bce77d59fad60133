package devenv

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver that DSNs are for
)

// MariaDBConfig says where a MariaDB (or MySQL) server runs.
type MariaDBConfig struct {
	Dir  string // its data and log; made on first use
	Port int
	// Password is that of the user "lacuna", who owns every database of the server.
	Password string
	// Args are added to the server's command line.
	Args []string
}

// MariaDB is a running server.
type MariaDB struct {
	*Child
	config MariaDBConfig
}

// mariadbUser owns the databases; the server's root has no password and no network.
const mariadbUser = "lacuna"

// StartMariaDB initialises the data folder where it is new, runs the server, and returns when it answers.
func StartMariaDB(ctx context.Context, b Binaries, config MariaDBConfig) (*MariaDB, error) {
	if err := checkMariaDBVersion(ctx, b.MariaDB); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(config.Dir)
	if err != nil {
		return nil, err
	}
	config.Dir = dir
	if err := initialiseMariaDB(ctx, b, config); err != nil {
		return nil, err
	}
	child, err := Start(Spec{Name: "MariaDB", Path: b.MariaDB, Log: config.log(), Args: append([]string{
		"--no-defaults", "--datadir=" + config.data(), "--port=" + strconv.Itoa(config.Port), "--bind-address=127.0.0.1",
		"--socket=" + config.socket(), "--pid-file=" + filepath.Join(config.Dir, "pid"), "--user=" + osUser(),
		"--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=256M", "--innodb-log-file-size=64M",
		"--max-connections=500", "--skip-log-bin", "--skip-name-resolve", "--init-file=" + filepath.Join(config.Dir, "init.sql"),
	}, config.Args...)})
	if err != nil {
		return nil, err
	}
	m := &MariaDB{Child: child, config: config}
	if err := child.AwaitReady(ctx, m.ping); err != nil {
		return nil, fmt.Errorf("%w\n(data folder %s; `make clean-dev` forgets it)", err, config.Dir)
	}
	return m, nil
}

func (c MariaDBConfig) data() string { return filepath.Join(c.Dir, "data") }
func (c MariaDBConfig) log() string  { return filepath.Join(c.Dir, "log") }

// socket is relative to the data folder: a socket's path may have 107 bytes.
func (c MariaDBConfig) socket() string { return "mariadb.sock" }

// DSN names a database of the server, for go-sql-driver.
func (m *MariaDB) DSN(database string) string {
	return fmt.Sprintf("%s:%s@tcp(%s)/%s", mariadbUser, m.config.Password, Address(m.config.Port), database)
}

// CreateDatabase makes a database where it is missing.
func (m *MariaDB) CreateDatabase(ctx context.Context, name string) error {
	db, err := sql.Open("mysql", m.DSN(""))
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // a connection of one statement
	if _, err := db.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS `"+name+"`"); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

func (m *MariaDB) ping(ctx context.Context) error {
	db, err := sql.Open("mysql", m.DSN(""))
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // a connection of one statement
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return db.PingContext(ctx)
}

// initialiseMariaDB makes the data folder, unless it is there. A folder that was left half made
// is made anew.
func initialiseMariaDB(ctx context.Context, b Binaries, config MariaDBConfig) error {
	complete := filepath.Join(config.Dir, "initialised")
	if err := os.MkdirAll(config.Dir, 0o755); err != nil {
		return fmt.Errorf("make MariaDB's folder: %w", err)
	}
	// The init file runs at every start: the password follows the settings.
	init := fmt.Sprintf("CREATE USER IF NOT EXISTS '%[1]s'@'127.0.0.1' IDENTIFIED BY '%[2]s';\n"+
		"ALTER USER '%[1]s'@'127.0.0.1' IDENTIFIED BY '%[2]s';\nGRANT ALL ON *.* TO '%[1]s'@'127.0.0.1' WITH GRANT OPTION;\n", mariadbUser, config.Password)
	if err := os.WriteFile(filepath.Join(config.Dir, "init.sql"), []byte(init), 0o600); err != nil {
		return fmt.Errorf("write MariaDB's init file: %w", err)
	}
	if _, err := os.Stat(complete); err == nil {
		return nil
	}
	args := []string{"--no-defaults", "--datadir=" + config.data(), "--user=" + osUser(), "--innodb-log-file-size=64M"}
	program := b.MariaDBInstall
	if program != "" {
		args = append(args, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	} else {
		program, args = b.MariaDB, append(args, "--initialize-insecure")
	}
	// The bootstrap of a server is the one step here that depends on what else the machine is doing,
	// so it has a second chance.
	err := makeDataFolder(ctx, config, program, args)
	if err != nil && ctx.Err() == nil {
		err = makeDataFolder(ctx, config, program, args)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(complete, nil, 0o644)
}

func makeDataFolder(ctx context.Context, config MariaDBConfig, program string, args []string) error {
	if err := os.RemoveAll(config.data()); err != nil {
		return fmt.Errorf("remove a half made data folder: %w", err)
	}
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("initialise MariaDB's data folder %s: %w\n%s", config.data(), err, lastLines(out, 40))
	}
	return nil
}

var versionPattern = regexp.MustCompile(`(\d+)\.(\d+)\.(\d+)(-MariaDB)?`)

// checkMariaDBVersion refuses servers without SKIP LOCKED, JSON_TABLE or enforced CHECKs.
func checkMariaDBVersion(ctx context.Context, path string) error {
	out, err := exec.CommandContext(ctx, path, "--no-defaults", "--version").Output()
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", path, err)
	}
	found := versionPattern.FindStringSubmatch(string(out))
	if found == nil {
		return fmt.Errorf("%s does not tell its version: %q", path, strings.TrimSpace(string(out)))
	}
	need, have := "8.0.16", versionNumber(found[1:4])
	if found[4] != "" {
		need = "10.6.0"
	}
	if have < versionNumber(strings.Split(need, ".")) {
		return fmt.Errorf("%s is version %s; MySQL 8.0.16 or MariaDB 10.6 is needed", path, found[0])
	}
	return nil
}

func versionNumber(parts []string) (n int) {
	for _, part := range parts {
		i, _ := strconv.Atoi(part) // the pattern lets digits through only
		n = n*1000 + i
	}
	return n
}

// osUser is who the server runs as. Asked by root it refuses to run as root unless told so.
func osUser() string {
	if os.Geteuid() == 0 {
		return "root"
	}
	return os.Getenv("USER")
}
