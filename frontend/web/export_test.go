package web

import (
	"crypto/tls"
	"log/slog"
	"net"
)

// On returns a server on a listener of the test's own, such as one of pipes
// inside a synctest bubble.
func On(ln net.Listener, o Options) *Server {
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = DefaultMaxBodyBytes
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	return &Server{o: o, log: slog.New(slog.DiscardHandler), ln: ln}
}

// Certificate returns what gives the certificate of these files to show.
func Certificate(cert, key string, log *slog.Logger) (func() (*tls.Certificate, error), error) {
	c, err := tlsConfig(cert, key, log)
	if err != nil {
		return nil, err
	}
	return func() (*tls.Certificate, error) { return c.GetCertificate(nil) }, nil
}
