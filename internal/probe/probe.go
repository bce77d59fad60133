// Package probe asks the business whether it holds a number: by SQL on a data source of the worker's
// configuration, or by HTTP.
//
// No answer is never "no". The worker makes a Prober; package activities asks it before a number is
// issued again.
package probe

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	_ "github.com/go-sql-driver/mysql" // the driver of the data sources

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	// maxConns bounds the connections to one data source: the business's own traffic comes first.
	maxConns = 4
	// maxQuestions bounds the HTTP questions under way.
	maxQuestions = 16
	// maxAnswer is the longest HTTP answer that is read, in bytes.
	maxAnswer = 64 << 10
)

// Prober asks. It is safe for concurrent use.
type Prober struct {
	sources map[string]source
	http    *http.Client
	places  chan struct{} // of HTTP questions under way
}

// New prepares a connection pool for each data source, by name; it does not connect. An error names
// the source, never its password.
func New(dsns map[string]string) (*Prober, error) {
	p := &Prober{sources: map[string]source{}, http: &http.Client{CheckRedirect: noRedirect}, places: make(chan struct{}, maxQuestions)}
	for name, dsn := range dsns {
		db, err := sql.Open("mysql", dsn)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("probe data source %s: its DSN cannot be read: user:password@tcp(host:port)/database", name), p.Close())
		}
		db.SetMaxOpenConns(maxConns)
		db.SetMaxIdleConns(maxConns)
		p.sources[name] = source{db: db, places: make(chan struct{}, maxConns)}
	}
	return p, nil
}

// source is a data source, and its connections in use.
type source struct {
	db     *sql.DB
	places chan struct{}
}

// noRedirect takes a redirect for what it is: no answer.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close ends the connections.
func (p *Prober) Close() error {
	var errs []error
	for _, s := range p.sources {
		errs = append(errs, s.db.Close())
	}
	return errors.Join(errs...)
}

// Ask reports whether the business holds the number. An error is no answer. The time for an answer begins
// when it is the question's turn: many numbers that ask at once are not taken for a slow business.
func (p *Prober) Ask(ctx context.Context, how sequence.Probe, ticket sequence.Ticket) (inUse bool, err error) {
	if how.URL == "" {
		return p.askSQL(ctx, how, ticket)
	}
	select {
	case p.places <- struct{}{}:
	case <-ctx.Done():
		return false, fmt.Errorf("probe %s: %w", ticket, ctx.Err())
	}
	defer func() { <-p.places }()
	ctx, cancel := context.WithTimeout(ctx, how.Timeout)
	defer cancel()
	return p.askHTTP(ctx, how.URL, ticket)
}

// askSQL asks in a transaction that can change nothing.
func (p *Prober) askSQL(ctx context.Context, how sequence.Probe, ticket sequence.Ticket) (inUse bool, err error) {
	s, ok := p.sources[how.DSN]
	if !ok {
		return false, fmt.Errorf("probe %s: the worker knows no data source %q: add it to LACUNA_PROBE_DSNS", ticket, how.DSN)
	}
	select {
	case s.places <- struct{}{}:
	case <-ctx.Done():
		return false, fmt.Errorf("probe %s on %s: %w", ticket, how.DSN, ctx.Err())
	}
	defer func() { <-s.places }()
	ctx, cancel := context.WithTimeout(ctx, how.Timeout)
	defer cancel()
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return false, fmt.Errorf("probe %s on %s: %w", ticket, how.DSN, err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was changed
	rows, err := tx.QueryContext(ctx, how.Query, ticket.SeqNo)
	if err != nil {
		return false, fmt.Errorf("probe %s on %s: %w", ticket, how.DSN, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	inUse = rows.Next()
	if err := rows.Err(); err != nil {
		return false, fmt.Errorf("probe %s on %s: %w", ticket, how.DSN, err)
	}
	return inUse, nil
}

// answer is what an HTTP probe answers.
type answer struct {
	InUse *bool `json:"inUse"`
}

func (p *Prober) askHTTP(ctx context.Context, address string, ticket sequence.Ticket) (inUse bool, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return false, fmt.Errorf("probe %s: %w", ticket, err)
	}
	query := u.Query()
	query.Set("ticket", ticket.String())
	query.Set("bizType", ticket.BizType)
	query.Set("seqNo", ticket.SeqNo)
	u.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return false, fmt.Errorf("probe %s: %w", ticket, err)
	}
	response, err := p.http.Do(r)
	if err != nil {
		return false, fmt.Errorf("probe %s: %w", ticket, err)
	}
	defer response.Body.Close() //nolint:errcheck // nothing is left to say
	if response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("probe %s: %s answered %s, and only 200 is an answer", ticket, u.Host, response.Status)
	}
	var a answer
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&a); err != nil || a.InUse == nil {
		return false, fmt.Errorf(`probe %s: %s did not answer {"inUse": true} or {"inUse": false}`, ticket, u.Host)
	}
	return *a.InUse, nil
}
