package web

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certInterval is how long a certificate is used without a look at whether its file
// has changed.
const certInterval = 10 * time.Second

// tlsConfig returns how to speak TLS with a certificate, or nil where there is none.
func tlsConfig(cert, key string, log *slog.Logger) (*tls.Config, error) {
	if cert == "" && key == "" {
		return nil, nil
	}
	c := &certificate{cert: cert, key: key, log: log}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("certificate for TLS: %w", err)
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
	}, nil
}

// CheckCertificate returns what Listen would refuse the files of a certificate for.
func CheckCertificate(cert, key string) error {
	_, err := tlsConfig(cert, key, nil)
	return err
}

// A certificate is read from its files again when they change: certificates are
// renewed more often than gateways are restarted.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	changed time.Time // of the file
	looked  time.Time
}

func (c *certificate) read() error {
	info, err := os.Stat(c.cert)
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.pair, c.changed, c.looked = &pair, info.ModTime(), time.Now()
	c.mu.Unlock()
	return nil
}

// current returns the certificate to show. One that cannot be read leaves the one
// before in use.
func (c *certificate) current() *tls.Certificate {
	c.mu.Lock()
	look := time.Since(c.looked) >= certInterval
	if look {
		c.looked = time.Now() // others go on with what there is meanwhile
	}
	changed, pair := c.changed, c.pair
	c.mu.Unlock()
	if !look {
		return pair
	}
	if info, err := os.Stat(c.cert); err == nil && info.ModTime().Equal(changed) {
		return pair
	}
	if err := c.read(); err != nil {
		c.log.Error("certificate for TLS cannot be read again; the one before is used", "file", c.cert, "error", err)
		return pair
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pair
}
