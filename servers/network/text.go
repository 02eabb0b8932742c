package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// plain returns foreign text fit for one line of an answer.
func plain(s string, limit int) string { return egress.Plain(s, limit) }

// show returns a short foreign text for an error.
func show(s string) string { return plain(s, 120) }

// cut shortens s to at most limit characters.
func cut(s string, limit int) string { return egress.Cut(s, limit) }

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", millis(d)) }

func clamp[N int | float64](n, low, high N) N { return min(max(n, low), high) }

// seconds returns a number of seconds, clamped, as a duration.
func seconds(n, low, high float64) time.Duration {
	return time.Duration(clamp(n, low, high) * float64(time.Second))
}

// said reports whether err is one of the guard's own, whose text is an answer.
func said(err error) bool {
	var r *egress.Refusal
	var h *egress.HostError
	var l *egress.LookupError
	return errors.As(err, &r) || errors.As(err, &h) || errors.As(err, &l)
}

// unwrapSaid returns the guard's own error out of what a client wrapped around it.
func unwrapSaid(err error) error {
	if r, ok := errors.AsType[*egress.Refusal](err); ok {
		return r
	}
	if h, ok := errors.AsType[*egress.HostError](err); ok {
		return h
	}
	if l, ok := errors.AsType[*egress.LookupError](err); ok {
		return l
	}
	return err
}

// unresolved says of what this server asks on its own that its host has no address:
// that is no fault of what a model wrote.
func unresolved(what, option string, err error) error {
	if _, ok := errors.AsType[*egress.LookupError](err); !ok {
		return err
	}
	return fmt.Errorf("%s cannot be asked: its host could not be found by DNS, so this machine has no way to the internet, or its name servers do not work. Nothing is wrong with the query. "+
		"dns_lookup of a well-known name tells more; an operator can set the option %s (%s)", what, option, plain(err.Error(), 200))
}

func isRefused(err error) bool {
	const windows = syscall.Errno(10061) // WSAECONNREFUSED, which is none of the portable errors
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, windows)
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

// failure returns what a model needs of an error of a connection to what: what
// happened, and what to try next.
func failure(what string, err error, limit time.Duration) error {
	switch {
	case said(err):
		return unwrapSaid(err)
	case errors.Is(err, context.Canceled):
		return errors.New("canceled")
	case isTimeout(err):
		return fmt.Errorf("%s: no answer within %s. A firewall may drop it, or the host is down; try check_port or ping_host, or a longer timeout_sec", what, limit)
	case isRefused(err):
		return fmt.Errorf("%s: connection refused. The host is up, but nothing listens on that port", what)
	}
	return fmt.Errorf("%s: %s", what, plain(err.Error(), 300))
}
