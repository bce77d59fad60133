package ledger

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Time limits of a connection where the DSN sets none. The reads cover a transaction of 10,000
// rows on a slow disk, and still notice a server that stopped answering.
const (
	defaultDialTimeout = 2 * time.Second
	defaultReadTimeout = 15 * time.Second
)

// lockWait is how long a statement waits for a row lock before its batch is halved and repeated.
const lockWait = 2 * time.Second

// A process that is frozen in the middle of a transaction holds its locks. The server closes a
// connection that says nothing for idleLimit, also inside a transaction, and so frees them; the
// pool closes idle ones before that.
const (
	idleLimit    = 10 * time.Second
	maxIdleInUse = 5 * time.Second
)

// isolation is set by statement, since the DSN variable for it differs between MySQL and MariaDB.
const isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"

// newConnector reads the DSN and pins what the ledger's rules depend on: times are UTC on both
// sides, and a server that turned read-only is left for its successor.
func newConnector(dsn string) (driver.Connector, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		if loc := locOf(dsn); loc != "" && loc != "UTC" { // the driver takes only zones that it knows, and escaped
			return nil, notUTC(loc)
		}
		// The driver's error may quote the DSN, and with it the password.
		return nil, fmt.Errorf("ledger: the DSN is not of the form user:password@tcp(host:port)/database")
	}
	if cfg.Loc != time.UTC {
		return nil, notUTC(cfg.Loc.String())
	}
	if zone, ok := cfg.Params["time_zone"]; ok && zone != "'+00:00'" {
		return nil, fmt.Errorf("ledger: the DSN sets time_zone=%s; all times are UTC, leave time_zone out", zone)
	}
	if cfg.DBName == "" {
		return nil, fmt.Errorf("ledger: the DSN names no database")
	}
	cfg.Logger = &mysql.NopLogger{} // what it logs it also returns as an error
	cfg.ParseTime, cfg.InterpolateParams, cfg.RejectReadOnly = true, true, true
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	cfg.Params["time_zone"] = "'+00:00'"
	cfg.Params["innodb_lock_wait_timeout"] = fmt.Sprint(int(lockWait.Seconds()))
	cfg.Params["wait_timeout"] = fmt.Sprint(int(idleLimit.Seconds()))
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultDialTimeout
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = defaultReadTimeout
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = defaultReadTimeout
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("ledger: the DSN: %w", err)
	}
	return sessionConnector{connector}, nil
}

// locOf is the parameter loc of a DSN, as far as one can be read.
func locOf(dsn string) string {
	_, query, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, ')')+1:], "?") // past the password
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return ""
	}
	return parameters.Get("loc")
}

func notUTC(loc string) error {
	return fmt.Errorf("ledger: the DSN sets loc=%s; all times are UTC, leave loc out", loc)
}

// sessionConnector opens connections with the session settings of the ledger.
type sessionConnector struct{ driver.Connector }

func (c sessionConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, isolation, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", isolation, errorsJoinClose(err, conn))
	}
	return conn, nil
}
