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

// server is the API over HTTP/1.1 and HTTP/2, with or without TLS: Connect, gRPC, gRPC-Web and plain JSON; and the
// console.
type server struct {
	http     *http.Server
	listener net.Listener
	failed   chan error
}

// services are the handlers of the API, before anybody asks who calls.
func services(t *telemetry.Telemetry, g *gate, service *wire.Service, operator *operatorService) (http.Handler, error) {
	observe, err := t.Connect()
	if err != nil {
		return nil, err
	}
	options := connect.WithHandlerOptions(
		connect.WithInterceptors(observe, logFaults(t.Log), g),
		wire.Options(),
	)
	mux := http.NewServeMux()
	mux.Handle(lacunav1connect.NewSequenceServiceHandler(service, options))
	mux.Handle(lacunav1connect.NewOperatorServiceHandler(operator, options))
	return mux, nil
}

// listen serves the API, which is called from outside with a token, its description, and pages at every other address.
func listen(ctx context.Context, g *gate, cert *certificate, address string, api, pages http.Handler) (*server, error) {
	mux := http.NewServeMux()
	for _, name := range []string{lacunav1connect.SequenceServiceName, lacunav1connect.OperatorServiceName} {
		mux.Handle("/"+name+"/", g.identify(wire.Bound(api)))
	}
	mux.HandleFunc("GET /openapi.yaml", openAPI)
	mux.Handle("/", pages)
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
