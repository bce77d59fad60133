package devenv

import (
	"context"
	"fmt"
)

// Server is a running child that listens on a port of loopback and answers.
type Server struct {
	*Child
	port int
	ping func(context.Context, *Child) error
}

// startServer runs a child and returns when ping succeeds. Where it does not, the error names the
// port that is another's, or the folder that the server runs in and how to forget it.
func startServer(ctx context.Context, spec Spec, port int, ping func(context.Context, *Child) error) (*Server, error) {
	s := &Server{port: port, ping: ping}
	if err := s.start(ctx, spec); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, spec Spec) error {
	if err := checkPort(spec.Name, s.port); err != nil {
		return err
	}
	child, err := Start(spec)
	if err != nil {
		return err
	}
	err = child.AwaitReady(ctx, func(ctx context.Context) error { return s.ping(ctx, child) })
	if err == nil {
		s.Child = child
		return nil
	}
	if taken := checkPort(spec.Name, s.port); taken != nil {
		return taken // by somebody who was faster
	}
	return fmt.Errorf("data folder %s (`make clean-dev` forgets it): %w", spec.Dir, err)
}

// Restart stops the server, if it still runs, and starts it again on the same port and data. It
// returns when the server answers; nobody else may use the handle meanwhile.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(ctx); err != nil {
		return err
	}
	return s.start(ctx, s.spec)
}

// Address is where the server listens.
func (s *Server) Address() string { return Address(s.port) }
