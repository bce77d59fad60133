package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
)

// noTemporal says why nothing of Temporal was looked at.
const noTemporal = "TEMPORAL_ADDRESS is not set"

// temporalServer is Temporal, as TEMPORAL_* names it.
type temporalServer struct {
	client.Client
	namespace string
}

// dialTemporal connects; nil where the environment names no address.
func dialTemporal(ctx context.Context) (*temporalServer, error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, fmt.Errorf("TEMPORAL_*: %w", err)
	}
	if o.HostPort == "" {
		return nil, nil //nolint:nilnil // it was not asked for
	}
	if o.Namespace == "" {
		o.Namespace = client.DefaultNamespace
	}
	o.Logger = log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("reach Temporal at %s: %w", o.HostPort, err)
	}
	return &temporalServer{c, o.Namespace}, nil
}
