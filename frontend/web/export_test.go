package web

import (
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
