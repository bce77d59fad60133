package main

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/config"
	"github.com/lacuna-seq/lacuna/internal/startup"
)

// accessOpen is the setting that lets everybody in.
const accessOpen = "open"

// openGate makes the gate and begins to follow the ledger's tokens; keep ends that. keyring is nil where access is
// open. A ledger that cannot be read now is read later: until then calls are UNAVAILABLE.
func openGate(ctx context.Context, p *startup.Process, settings config.Starter) (g *gate, keyring *access.Keyring, keep func(), err error) {
	meter := p.Meters.Meter("lacuna")
	if settings.Access == accessOpen {
		p.Log.WarnContext(ctx, "ACCESS IS OPEN: whoever reaches the API may do everything, as the admin anonymous; set LACUNA_ACCESS=token to close it", "listen", settings.Listen)
		g, err = newGate(anybody, p.Log, meter)
		return g, nil, func() {}, err
	}
	keyring = access.NewKeyring(p.Ledger)
	if err := keyring.Refresh(ctx); err != nil {
		p.Log.WarnContext(ctx, "the tokens cannot be read; calls are UNAVAILABLE until they can", "error", err)
	}
	if g, err = newGate(keyring.Identify, p.Log, meter); err != nil {
		return nil, nil, nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // calls are taken until the server has stopped
	var watching sync.WaitGroup
	watching.Go(func() { keyring.Watch(ctx, p.Log) })
	return g, keyring, func() { stop(); watching.Wait() }, nil
}

// certificateOf is the API's certificate; nil for plain HTTP.
func certificateOf(p *startup.Process, settings config.Starter) (*certificate, error) {
	if settings.TLSCert != "" {
		return loadCertificate(settings.TLSCert, settings.TLSKey, p.Log)
	}
	if settings.Access != accessOpen && !onLoopback(settings.Listen) {
		p.Log.Warn("the API listens beyond this machine without TLS: tokens can be read on the way; set LACUNA_TLS_CERT and LACUNA_TLS_KEY, or have TLS ended in front of it",
			"listen", settings.Listen)
	}
	return nil, nil
}

// onLoopback reports whether only this machine reaches the address.
func onLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil || host == "localhost" {
		return err == nil
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
