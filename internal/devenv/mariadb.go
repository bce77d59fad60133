package devenv

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	*Server
	config MariaDBConfig
}

// mariadbUser owns the databases. The server's root has no password and comes by the socket in the
// data folder only.
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
	if err := config.initialise(ctx, b); err != nil {
		return nil, err
	}
	spec := Spec{Name: "MariaDB", Path: b.MariaDB, Args: config.args(), Dir: config.Dir, Log: filepath.Join(config.Dir, "log")}
	server, err := startServer(ctx, spec, config.Port, config.ping)
	if err != nil {
		return nil, err
	}
	return &MariaDB{Server: server, config: config}, nil
}

func (c MariaDBConfig) data() string    { return filepath.Join(c.Dir, "data") }
func (c MariaDBConfig) pidFile() string { return filepath.Join(c.Dir, "pid") }

// initFile runs at every start.
func (c MariaDBConfig) initFile() string { return filepath.Join(c.Dir, "init.sql") }

// tmp is the folder of temporary tables. A server that starts removes the tables that it finds
// there, another server's too, so each has a folder of its own.
func (c MariaDBConfig) tmp() string { return filepath.Join(c.Dir, "tmp") }

// args are the server's command line. The socket's path is relative to the data folder, since it
// may have 107 bytes; "loose" options are unknown to some of the servers.
func (c MariaDBConfig) args() []string {
	return slices.Concat([]string{
		"--no-defaults", "--datadir=" + c.data(), "--tmpdir=" + c.tmp(), "--pid-file=" + c.pidFile(), "--init-file=" + c.initFile(),
		"--port=" + strconv.Itoa(c.Port), "--bind-address=127.0.0.1", "--socket=mariadb.sock", "--skip-name-resolve", "--loose-mysqlx=0",
		"--innodb-flush-log-at-trx-commit=1", "--skip-log-bin", "--loose-log-warnings=1",
		"--innodb-buffer-pool-size=256M", "--loose-innodb-log-file-size=64M", "--max-connections=500",
	}, asRoot(), c.Args)
}

// asRoot lets a server that root starts run as root, which it refuses otherwise.
func asRoot() []string {
	if os.Geteuid() != 0 {
		return nil
	}
	return []string{"--user=root"}
}

// initialise makes the data folder, unless it is there. One that was left half made is made anew.
func (c MariaDBConfig) initialise(ctx context.Context, b Binaries) error {
	if err := os.MkdirAll(c.tmp(), 0o755); err != nil {
		return fmt.Errorf("make MariaDB's folder: %w", err)
	}
	if err := os.WriteFile(c.initFile(), []byte(c.initSQL()), 0o600); err != nil {
		return fmt.Errorf("write MariaDB's init file: %w", err)
	}
	complete := filepath.Join(c.Dir, "initialised")
	if _, err := os.Stat(complete); err == nil {
		return nil
	}
	if err := os.RemoveAll(c.data()); err != nil {
		return fmt.Errorf("remove a half made data folder: %w", err)
	}
	args := append([]string{"--no-defaults", "--datadir=" + c.data(), "--tmpdir=" + c.tmp(), "--loose-innodb-log-file-size=64M"}, asRoot()...)
	program := b.MariaDBInstall
	if program != "" {
		args = append(args, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	} else {
		program, args = b.MariaDB, append(args, "--initialize-insecure")
	}
	if out, err := command(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("initialise MariaDB's data folder %s: %w\n%s", c.data(), err, lastLines(complaints(out), 20))
	}
	return os.WriteFile(complete, nil, 0o644)
}

// complaints leaves out what the program says besides its errors, where it says any.
func complaints(out []byte) []byte {
	var found []byte
	for line := range bytes.Lines(out) {
		if bytes.Contains(line, []byte("ERROR")) {
			found = append(found, line...)
		}
	}
	if found == nil {
		return out
	}
	return found
}

// initSQL makes the password follow the settings, and takes from root what the network reaches.
func (c MariaDBConfig) initSQL() string {
	user := "'" + mariadbUser + "'@'127.0.0.1'"
	password := "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`, "\n", `\n`).Replace(c.Password) + "'"
	return strings.Join([]string{
		"CREATE USER IF NOT EXISTS " + user,
		"ALTER USER " + user + " IDENTIFIED BY " + password,
		"GRANT ALL ON *.* TO " + user + " WITH GRANT OPTION",
		"DROP USER IF EXISTS 'root'@'127.0.0.1', 'root'@'::1'",
	}, ";\n") + ";\n"
}

// ping asks who answers, too: it may be another server, that took the port first.
func (c MariaDBConfig) ping(ctx context.Context, _ *Child) error {
	db, err := sql.Open("mysql", c.dsn(""))
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // a connection of one statement
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var pidFile string
	err = db.QueryRowContext(ctx, "SELECT @@pid_file").Scan(&pidFile)
	if err == nil && pidFile != c.pidFile() {
		err = fmt.Errorf("another server answers on port %d", c.Port)
	}
	return err
}

func (c MariaDBConfig) dsn(database string) string {
	return fmt.Sprintf("%s:%s@tcp(%s)/%s", mariadbUser, c.Password, Address(c.Port), database)
}

// DSN names a database of the server, for go-sql-driver.
func (m *MariaDB) DSN(database string) string { return m.config.dsn(database) }

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
