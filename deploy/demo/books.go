package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
)

// The shop's own tables. order_number is what the whole of Lacuna is for: a number that was given
// to two would fail here.
var createTables = []string{
	`CREATE TABLE IF NOT EXISTS shop_runs (
		id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, events VARCHAR(255) NOT NULL, started DATETIME(6) NOT NULL, ended DATETIME(6) NULL)`,
	`CREATE TABLE IF NOT EXISTS orders (
		order_number VARCHAR(64) NOT NULL PRIMARY KEY, ticket VARCHAR(128) NOT NULL, biz_key VARCHAR(128) NOT NULL,
		created DATETIME(6) NOT NULL, UNIQUE KEY uk_biz_key (biz_key))`,
	`CREATE TABLE IF NOT EXISTS lost_sales (
		biz_key VARCHAR(128) NOT NULL PRIMARY KEY, outcome VARCHAR(16) NOT NULL)`,
}

// books are the shop's tables.
type books struct{ db *sql.DB }

func openBooks(ctx context.Context, dsn string) (books, error) {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return books{}, errors.New("LACUNA_SHOP_DSN is not of the form user:password@tcp(host:port)/database")
	}
	db.SetMaxOpenConns(200)
	db.SetMaxIdleConns(50)
	for _, statement := range createTables {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return books{}, errors.Join(fmt.Errorf("make the shop's tables: %w", err), db.Close())
		}
	}
	return books{db}, nil
}

// openRun goes on with a run of the same traffic that was cut short, or begins a new one.
func (b books) openRun(ctx context.Context, events string) (run int, resumed bool, err error) {
	err = b.db.QueryRowContext(ctx, `SELECT id FROM shop_runs WHERE events = ? AND ended IS NULL ORDER BY id DESC LIMIT 1`, events).Scan(&run)
	if err == nil {
		return run, true, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, false, fmt.Errorf("read the last run: %w", err)
	}
	result, err := b.db.ExecContext(ctx, `INSERT INTO shop_runs (events, started) VALUES (?, UTC_TIMESTAMP(6))`, events)
	if err != nil {
		return 0, false, fmt.Errorf("begin a run: %w", err)
	}
	id, err := result.LastInsertId()
	return int(id), false, err
}

func (b books) endRun(ctx context.Context, run int) error {
	_, err := b.db.ExecContext(ctx, `UPDATE shop_runs SET ended = UTC_TIMESTAMP(6) WHERE id = ?`, run)
	return err
}

// done reads the events of a run whose story has ended.
func (b books) done(ctx context.Context, prefix string) (map[string]bool, error) {
	rows, err := b.db.QueryContext(ctx, `SELECT biz_key FROM orders WHERE biz_key LIKE ? UNION ALL SELECT biz_key FROM lost_sales WHERE biz_key LIKE ?`,
		prefix+"%", prefix+"%")
	if err != nil {
		return nil, fmt.Errorf("read what was done: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	done := map[string]bool{}
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		done[key] = true
	}
	return done, rows.Err()
}

func (b books) hasOrder(ctx context.Context, bizKey string) (bool, error) {
	var n int
	err := b.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM orders WHERE biz_key = ?`, bizKey).Scan(&n)
	return n > 0, err
}

func (b books) loseSale(ctx context.Context, bizKey string, o outcome) error {
	_, err := b.db.ExecContext(ctx, `INSERT INTO lost_sales (biz_key, outcome) VALUES (?, ?) ON DUPLICATE KEY UPDATE outcome = outcome`, bizKey, o)
	return err
}

// isDuplicate is MySQL's error of a key that is taken.
func isDuplicate(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && e.Number == 1062
}
