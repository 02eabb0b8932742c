package local

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// TakesNetwork reports that sandboxes may have a proxy, which is so at the level
// "namespaces": the sandbox has a network of its own without any route, and the socket
// of the proxy is opened in there and served out here.
func (b *Backend) TakesNetwork() bool { return true }

// listenerOf takes the socket that the launcher has opened on the sandbox's loopback.
func listenerOf(files []int) (net.Listener, error) {
	if len(files) != 1 {
		closeAll(files)
		return nil, errors.New("the launcher opened no socket for the proxy")
	}
	f := os.NewFile(uintptr(files[0]), "proxy")
	defer func() { _ = f.Close() }() // the listener has its own
	return net.FileListener(f)
}

// serve gives the connections of the code to who serves them, until the end.
func (x *box) serve() {
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	for {
		conn, err := x.outlet.Accept()
		if err == nil {
			serving.Go(func() { x.spec.Network(ctx, conn) })
			continue
		}
		pause := time.NewTimer(glance) // there may be too many files
		select {
		case <-x.quit:
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}
