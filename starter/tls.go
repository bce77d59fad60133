package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookAtFilesEvery is how often, at most, a handshake looks whether the certificate's files have changed.
const lookAtFilesEvery = time.Second

// certificate is the API's, read again when its files change: one that is renewed needs no restart.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu     sync.Mutex
	loaded *tls.Certificate
	of     fileState // that loaded was read from, or that was tried last
	looked time.Time
}

// fileState tells files apart without reading them.
type fileState struct {
	certTime, keyTime time.Time
	certSize, keySize int64
}

func loadCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("LACUNA_TLS_CERT, LACUNA_TLS_KEY: %w", err)
	}
	return c, nil
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}

// get is asked at each handshake. What cannot be read leaves the certificate that is there: files are often
// replaced one after the other.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) >= lookAtFilesEvery {
		c.looked = time.Now()
		if state, err := c.state(); err == nil && state != c.of {
			if err := c.load(); err != nil {
				c.log.Warn("the API's certificate has changed and cannot be read; the one before goes on", "error", err)
			} else {
				c.log.Info("the API's certificate was read again")
			}
		}
	}
	return c.loaded, nil
}

func (c *certificate) load() error {
	state, err := c.state()
	if err != nil {
		return err
	}
	c.of = state
	loaded, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.loaded = &loaded
	return nil
}

func (c *certificate) state() (s fileState, err error) {
	cert, err := os.Stat(c.certFile)
	if err != nil {
		return s, err
	}
	key, err := os.Stat(c.keyFile)
	if err != nil {
		return s, err
	}
	return fileState{cert.ModTime(), key.ModTime(), cert.Size(), key.Size()}, nil
}
