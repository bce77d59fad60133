package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/devenv"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// MariaDB and Redis take nothing but TLS, with certificates of a CA that only this house knows, and the API has one
// of them too: the programs trust it by SSL_CERT_FILE.
func TestAPrivateCA(t *testing.T) {
	ca := newCA(t)
	cert, key := ca.issue(t)
	port, err := devenv.FreePort()
	require.NoError(t, err)
	mariadb, err := devenv.StartMariaDB(t.Context(), testkit.Binaries(t), devenv.MariaDBConfig{
		Dir: t.TempDir(), Port: port, Password: "test", Args: []string{"--ssl-ca=" + ca.file, "--ssl-cert=" + cert, "--ssl-key=" + key},
	})
	require.NoError(t, err)
	t.Cleanup(mariadb.Kill)
	require.NoError(t, mariadb.CreateDatabase(t.Context(), "lacuna"))
	plain := newStackOnBoth(t, mariadb.DSN("lacuna"), testkit.Redis(t), "SSL_CERT_FILE="+ca.file)
	plain.starter.Kill()
	plain.worker.Kill()
	for _, statement := range []string{"CREATE USER secure IDENTIFIED BY 'test' REQUIRE SSL", "GRANT ALL ON lacuna.* TO secure"} {
		_, err := plain.ledger.DB().ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}

	s := *plain
	s.dsn = "secure:test@" + s.dsn[strings.Index(s.dsn, "tcp("):] + "?tls=true"
	redis, err := url.Parse(s.redisURL)
	require.NoError(t, err)
	redis.Scheme, redis.Host = "rediss", overTLS(t, cert, key, redis.Host)
	s.redisURL = redis.String()
	stranger := s
	stranger.env = nil
	stranger.starter = stranger.program(t, "starter")
	testkit.Eventually(t, func() bool { return says(t, stranger.starter, "certificate signed by unknown authority") }, "it trusts whoever answers")
	stranger.starter.Kill()

	s.env = append(s.env, "LACUNA_TLS_CERT="+cert, "LACUNA_TLS_KEY="+key)
	s.worker, s.starter = s.program(t, "worker"), s.program(t, "starter")
	s.ready(t, s.worker)
	s.ready(t, s.starter)
	s.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.pool}}}
	s.starter.url = strings.Replace(s.starter.url, "http://", "https://", 1)
	ticket, seqNo := s.next(t, "DEMO")
	require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
	s.awaitState(t, "DEMO", seqNo, sequence.Replayable)
	testkit.Eventually(t, func() bool { _, again := s.next(t, "DEMO"); return again == seqNo }, "it does not come back through Redis")
	require.False(t, says(t, s.worker, "the pool is away"))

	out, code := s.lacuna(t, "audit")
	require.Zero(t, code, "%s", out)
}

// overTLS ends TLS in front of a server.
func overTLS(t *testing.T, cert, key, target string) (address string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close() //nolint:errcheck // it is over
				var dialer net.Dialer
				server, err := dialer.DialContext(ctx, "tcp", target)
				if err != nil {
					return
				}
				defer server.Close() //nolint:errcheck // it is over
				go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
				_, _ = io.Copy(client, server)
			}()
		}
	}()
	return listener.Addr().String()
}

// ca is an authority that nobody else knows.
type ca struct {
	dir, file string // of its certificate
	cert      *x509.Certificate
	key       *ecdsa.PrivateKey
	pool      *x509.CertPool
}

func newCA(t *testing.T) *ca {
	t.Helper()
	c := &ca{dir: t.TempDir(), pool: x509.NewCertPool()}
	var err error
	c.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a private CA"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, c.key.Public(), c.key)
	require.NoError(t, err)
	c.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	c.pool.AddCert(c.cert)
	c.file = c.write(t, "ca.pem", "CERTIFICATE", der)
	return c
}

// issue makes a certificate of 127.0.0.1.
func (c *ca) issue(t *testing.T) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, c.cert, k.Public(), c.key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(t, err)
	return c.write(t, "cert.pem", "CERTIFICATE", der), c.write(t, "key.pem", "PRIVATE KEY", keyDER)
}

func (c *ca) write(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(c.dir, name)
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return file
}
