package sequence

import (
	"net/url"
	"strings"
	"time"
)

// Probe is how the business is asked whether it holds a number, before the number is issued again:
// by SQL or by HTTP. The zero Probe asks nobody.
type Probe struct {
	// DSN names a data source of the worker's configuration; Query has one placeholder, for the seq no,
	// and a row for a number that is held.
	DSN, Query string
	// URL is asked with GET and the parameters ticket, bizType and seqNo added. The answer is
	// {"inUse": true} or {"inUse": false}.
	URL string
	// Timeout ends one question, 10 ms to 1 min.
	Timeout time.Duration
}

// Bounds of a probe's settings.
const (
	MaxProbeText        = 1024 // bytes of a query or a URL
	MinProbeTimeout     = 10 * time.Millisecond
	MaxProbeTimeout     = time.Minute
	DefaultProbeTimeout = 5 * time.Second
)

// Asks reports whether anybody is asked.
func (p Probe) Asks() bool { return p != Probe{} }

// faults gives what is wrong with it, in words.
func (p Probe) faults() []string {
	if !p.Asks() {
		return nil
	}
	var faults []string
	fault := func(ok bool, what string) {
		if !ok {
			faults = append(faults, what)
		}
	}
	u, err := url.Parse(p.URL)
	fault((p.DSN != "" && p.Query != "") != (p.URL != ""), "is either sql, with dsn and query, or http, with url")
	fault(p.Query == "" || strings.Count(p.Query, "?") == 1, "query has exactly one placeholder (?), for the seq no")
	fault(p.URL == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", "url is an http or https address")
	fault(len(p.Query) <= MaxProbeText && len(p.URL) <= MaxProbeText && len(p.DSN) <= 64, "dsn has at most 64 bytes, query and url at most 1024")
	fault(p.Timeout >= MinProbeTimeout && p.Timeout <= MaxProbeTimeout, "timeout is from 10ms to 1m")
	return faults
}
