package main

import (
	"log/slog"
	"net/http"

	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/console"
	"github.com/lacuna-seq/lacuna/internal/wire"
)

// newConsole makes the web console a client of the API of this process: what a person does there passes the same
// rules, and is counted and recorded as a call of that person's token. keyring is nil where access is open.
func newConsole(g *gate, keyring *access.Keyring, api http.Handler, sessions console.Sessions, log *slog.Logger) (http.Handler, error) {
	caller := &http.Client{Transport: inProcess{g.inside(wire.Bound(api))}}
	const here = "http://console" // no address: calls do not leave the process
	c := console.Config{
		Sequence: lacunav1connect.NewSequenceServiceClient(caller, here), Operator: lacunav1connect.NewOperatorServiceClient(caller, here),
		As: as, Sessions: sessions, Log: log,
	}
	if keyring != nil {
		c.Keyring = keyring
	}
	return console.New(c)
}
