package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// maxOpenConns bounds the connections of one process. Few are needed: calls are coalesced.
const maxOpenConns = 16

// Ledger is the numbers' tables. It is safe for concurrent use.
type Ledger struct {
	db       *sql.DB
	log      *slog.Logger
	counter  Counter
	observe  Observer
	memory   Memory
	seen     *seen
	delays   delayCounts
	activity activityCounts
}

// Observer is told of decisions that were committed, in the context of who asked for them. It must not wait.
type Observer func(context.Context, []sequence.Decision)

// Option changes how a Ledger is opened.
type Option func(*options)

type options struct {
	openDB  func(driver.Connector) *sql.DB
	log     *slog.Logger
	counter Counter
	observe Observer
	memory  Memory
}

// WithOpenDB makes the connection pool by open instead of sql.OpenDB, e.g. to trace statements.
func WithOpenDB(open func(driver.Connector) *sql.DB) Option {
	return func(o *options) { o.openDB = open }
}

// WithLogger sends the ledger's few lines (repeated transactions, unsafe server settings) to log.
func WithLogger(log *slog.Logger) Option {
	return func(o *options) { o.log = log }
}

// WithCounter takes the blocks of biz types of the source REDIS from counter. Without one they come
// off the cursor.
func WithCounter(counter Counter) Option {
	return func(o *options) { o.counter = counter }
}

// WithObserver tells observe of everything that Apply and IssueKeyed have decided and committed.
func WithObserver(observe Observer) Option {
	return func(o *options) { o.observe = observe }
}

// Open reads the DSN (user:password@tcp(host:port)/database, as of go-sql-driver) and prepares
// the connections; it does not connect. An error names what is wrong with the DSN, never its
// password.
func Open(dsn string, opts ...Option) (*Ledger, error) {
	o := options{openDB: sql.OpenDB, log: slog.Default(), observe: func(context.Context, []sequence.Decision) {}}
	for _, opt := range opts {
		opt(&o)
	}
	connector, err := newConnector(dsn)
	if err != nil {
		return nil, err
	}
	db := o.openDB(connector)
	db.SetMaxOpenConns(maxOpenConns)
	db.SetMaxIdleConns(maxOpenConns)
	db.SetConnMaxLifetime(10 * time.Minute)
	db.SetConnMaxIdleTime(maxIdleInUse)
	return &Ledger{
		db: db, log: o.log.With("component", "ledger"), counter: o.counter, observe: o.observe, memory: o.memory, seen: newSeen(),
	}, nil
}

// DB is the connection pool below, for migrations and for reads of other packages' own.
func (l *Ledger) DB() *sql.DB { return l.db }

// Close ends the connections.
func (l *Ledger) Close() error { return l.db.Close() }

// Ping answers whether the database answers; the error is a sequence.UnavailableError.
func (l *Ledger) Ping(ctx context.Context) error {
	var one int
	return classify("ping", l.db.QueryRowContext(ctx, "SELECT 1").Scan(&one))
}

const queryServerSettings = `SELECT VERSION(), @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.log_bin, @@GLOBAL.sync_binlog, @@SESSION.sql_mode,
	@@SESSION.auto_increment_increment`

// CheckServer refuses a server whose settings would cut values short without an error, or leave
// out ids of the source AUTOINC, and warns of one on which an acknowledged commit may be lost.
func (l *Ledger) CheckServer(ctx context.Context) error {
	var version, mode string
	var flush, binlog, syncBinlog, increment int
	err := l.db.QueryRowContext(ctx, queryServerSettings).Scan(&version, &flush, &binlog, &syncBinlog, &mode, &increment)
	if err != nil {
		return classify("read the server's settings", err)
	}
	if !strings.Contains(mode, "STRICT_TRANS_TABLES") && !strings.Contains(mode, "STRICT_ALL_TABLES") {
		return fmt.Errorf("ledger: the server's sql_mode is %q, which cuts long values without an error: add STRICT_TRANS_TABLES", mode)
	}
	if increment != 1 {
		return fmt.Errorf("ledger: the server's auto_increment_increment is %d, which leaves ids out: set it to 1", increment)
	}
	if flush != 1 {
		l.log.WarnContext(ctx, "an acknowledged commit may be lost in a crash of the database: set innodb_flush_log_at_trx_commit=1",
			"server", version, "innodb_flush_log_at_trx_commit", flush)
	}
	if binlog == 1 && syncBinlog != 1 {
		l.log.WarnContext(ctx, "an acknowledged commit may be lost in a crash of the database: set sync_binlog=1",
			"server", version, "sync_binlog", syncBinlog)
	}
	return nil
}

// errorsJoinClose closes conn and adds what went wrong with that.
func errorsJoinClose(err error, conn driver.Conn) error {
	return errors.Join(err, conn.Close())
}
