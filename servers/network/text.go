package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

// plain returns foreign text fit for one line of an answer: without control
// characters, and cut to at most limit characters.
func plain(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return '?'
		}
		return r
	}, s)
	return cut(s, limit)
}

// show returns a short foreign text for an error.
func show(s string) string { return plain(s, 120) }

// cut shortens s to at most limit characters.
func cut(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func clamp[N int | float64](n, low, high N) N { return min(max(n, low), high) }

// seconds returns a number of seconds, clamped, as a duration.
func seconds(n, low, high float64) time.Duration {
	return time.Duration(clamp(n, low, high) * float64(time.Second))
}

// said reports whether err is one of the guard's own, whose text is an answer.
func said(err error) bool {
	var r *refusal
	var h *hostError
	var l *lookupError
	return errors.As(err, &r) || errors.As(err, &h) || errors.As(err, &l)
}

// unwrapSaid returns the guard's own error out of what a client wrapped around it.
func unwrapSaid(err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	if h, ok := errors.AsType[*hostError](err); ok {
		return h
	}
	if l, ok := errors.AsType[*lookupError](err); ok {
		return l
	}
	return err
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
