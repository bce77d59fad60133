package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/internal/wire"
)

// server is the API over HTTP/1.1 and HTTP/2, with or without TLS: Connect, gRPC, gRPC-Web and plain JSON.
type server struct {
	http     *http.Server
	listener net.Listener
	failed   chan error
}

func listen(ctx context.Context, t *telemetry.Telemetry, g *gate, cert *certificate, address string, service *wire.Service, operator *operatorService) (*server, error) {
	observe, err := t.Connect()
	if err != nil {
		return nil, err
	}
	options := connect.WithHandlerOptions(
		connect.WithInterceptors(observe, logFaults(t.Log), g),
		wire.Options(),
	)
	mux := http.NewServeMux()
	serve := func(path string, h http.Handler) { mux.Handle(path, g.identify(wire.Bound(h))) }
	serve(lacunav1connect.NewSequenceServiceHandler(service, options))
	serve(lacunav1connect.NewOperatorServiceHandler(operator, options))
	mux.HandleFunc("GET /openapi.yaml", openAPI)
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve the API (LACUNA_LISTEN): %w", err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	if cert == nil {
		protocols.SetUnencryptedHTTP2(true)
	} else {
		protocols.SetHTTP2(true)
	}
	s := &server{
		http: &http.Server{
			Handler: mux, Protocols: protocols,
			ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		},
		listener: listener, failed: make(chan error, 1),
	}
	serveOn := s.http.Serve
	if cert != nil {
		s.http.TLSConfig = cert.config()
		serveOn = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	go func() {
		if err := serveOn(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return s, nil
}

func (s *server) address() string { return s.listener.Addr().String() }

// shutdown takes no more calls and waits for those in flight.
func (s *server) shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }
