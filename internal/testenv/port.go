package testenv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Ports from here to those that systems hand out by themselves are of nobody. Both ranges
// are as wide.
const (
	portsOfPrograms  = 16_000
	portsOfListeners = 24_000
	portsInRange     = 8_000
)

// Port returns a port of 127.0.0.1 for a program that cannot be given a listener. Nobody
// listens there, and nobody gets it who asks for just any port before the program has it.
func Port(tb testing.TB) int {
	tb.Helper()
	l, err := listen(tb.Context(), portsOfPrograms)
	if err != nil {
		tb.Fatal(err)
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil || !ok {
		tb.Fatal(addr, err)
	}
	return addr.Port
}

// Listen listens on 127.0.0.1, where one can listen again after the listener was closed:
// nobody gets its port meanwhile who asks for just any, or who connects to somewhere.
func Listen(ctx context.Context) (net.Listener, error) { return listen(ctx, portsOfListeners) }

func listen(ctx context.Context, from int) (l net.Listener, err error) {
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", from+rand.IntN(portsInRange))
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", address); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("no port is free: %w", err)
}
