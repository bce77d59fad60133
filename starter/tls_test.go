package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/internal/wire"
)

// issue writes a self-signed certificate of 127.0.0.1 with the serial number.
func issue(t *testing.T, dir string, serial int64) (roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "lacuna"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots = x509.NewCertPool()
	roots.AddCert(cert)
	return roots
}

func TestTheAPIOverTLS(t *testing.T) {
	dir := t.TempDir()
	roots := issue(t, dir, 1)
	log := slog.New(slog.DiscardHandler)
	cert, err := loadCertificate(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), log)
	require.NoError(t, err)
	g, err := newGate(anybody, log, noop.Meter{})
	require.NoError(t, err)
	tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "test", LogLevel: "error", LogFormat: "text", LogTo: &bytes.Buffer{}})
	require.NoError(t, err)
	defer tel.Shutdown(context.Background()) //nolint:errcheck // nothing was sent
	api, err := services(tel, g, &wire.Service{}, &operatorService{})
	require.NoError(t, err)
	s, err := listen(t.Context(), g, cert, "127.0.0.1:0", api, http.NotFoundHandler())
	require.NoError(t, err)
	defer s.shutdown(context.Background()) //nolint:errcheck // the test is over

	// ask calls with a connection of its own and gives the serial number of the certificate.
	ask := func(roots *x509.CertPool) (int64, int, error) {
		h := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
		var serial int64
		var major int
		api := lacunav1connect.NewSequenceServiceClient(recording{h, &serial, &major}, "https://"+s.address())
		_, err := api.Get(t.Context(), connect.NewRequest(&lacunav1.GetRequest{Ticket: "nonsense"}))
		return serial, major, err
	}
	serial, major, err := ask(roots)
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "it was served: %v", err)
	require.Equal(t, int64(1), serial)
	require.Equal(t, 2, major, "HTTP/2")
	_, _, err = ask(x509.NewCertPool())
	require.ErrorContains(t, err, "certificate")
	response, err := http.Get("http://" + s.address()) //nolint:noctx // on loopback
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, response.StatusCode, "plain HTTP is refused")
	require.NoError(t, response.Body.Close())

	t.Run("goes on with a certificate that is renewed", func(t *testing.T) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "key.pem"), []byte("half written"), 0o600))
		cert.forget()
		serial, _, _ := ask(roots)
		require.Equal(t, int64(1), serial, "the one before goes on")
		renewed := issue(t, dir, 2)
		cert.forget()
		serial, _, err := ask(renewed)
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
		require.Equal(t, int64(2), serial)
	})
	t.Run("is refused at the start where it cannot be read", func(t *testing.T) {
		_, err := loadCertificate(filepath.Join(dir, "none.pem"), filepath.Join(dir, "key.pem"), log)
		require.ErrorContains(t, err, "LACUNA_TLS_CERT")
	})
}

// recording keeps the serial number of the server's certificate and the version of HTTP.
type recording struct {
	*http.Client
	serial *int64
	major  *int
}

func (r recording) Do(request *http.Request) (*http.Response, error) {
	response, err := r.Client.Do(request)
	if err == nil && response.TLS != nil {
		*r.serial, *r.major = response.TLS.PeerCertificates[0].SerialNumber.Int64(), response.ProtoMajor
	}
	return response, err
}

// forget makes the next handshake look at the files.
func (c *certificate) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looked = time.Time{}
}
