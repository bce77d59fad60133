package main

import (
	"bytes"
	"io"
	"net/http"
)

// inProcess carries a request to a handler of this process. It answers when the handler has: for calls with one
// request and one response.
type inProcess struct{ handler http.Handler }

// RoundTrip never fails: what the handler has to say is in its response.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	incoming := r.Clone(r.Context())
	if incoming.Body == nil {
		incoming.Body = http.NoBody
	}
	defer incoming.Body.Close() //nolint:errcheck // a request in memory
	w := &answer{header: http.Header{}}
	p.handler.ServeHTTP(w, incoming)
	w.WriteHeader(http.StatusOK) // where the handler did not
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: w.sent, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// answer keeps what a handler writes.
type answer struct {
	header, sent http.Header
	status       int
	body         bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status, a.sent = status, a.header.Clone()
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}
