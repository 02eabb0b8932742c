package testenv

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Port returns a port of 127.0.0.1 for a program that cannot be given a listener. Nobody
// listens there, and nobody gets it who asks for just any port, before the program has it:
// those that systems hand out lie above.
func Port(tb testing.TB) int {
	tb.Helper()
	var err error
	for range 100 {
		port := 16_000 + rand.IntN(16_000)
		var l net.Listener
		if l, err = new(net.ListenConfig).Listen(tb.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			tb.Fatal(err)
		}
		return port
	}
	tb.Fatalf("no port is free: %v", err)
	return 0
}
