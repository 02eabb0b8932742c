package web_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/frontend/web"
)

// open opens a connection that stays open, and returns it with the answer to its request.
func open(t *testing.T, addr string) (net.Conn, *http.Response) {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+addr+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, res
}

// again opens connections until one is let in.
func again(t *testing.T, addr string) net.Conn {
	t.Helper()
	late := time.Now().Add(time.Minute)
	for {
		c, res := open(t, addr)
		if res.StatusCode == http.StatusOK {
			return c
		}
		c.Close()
		if time.Now().After(late) {
			t.Fatal("nobody is let in although places are free")
		}
	}
}

// TestConnectionsAreBounded: one too many is told so and closed, and whoever leaves makes room.
func TestConnectionsAreBounded(t *testing.T) {
	s, _ := serve(t, web.Options{Addr: "127.0.0.1:0", Handler: http.HandlerFunc(answer), MaxConnections: 3, MaxPerAddress: 1})
	var held []net.Conn
	for range 3 { // of this machine there may be more than one
		c, res := open(t, s.Addr())
		if res.StatusCode != http.StatusOK {
			t.Fatal(res.Status)
		}
		held = append(held, c)
	}
	c, res := open(t, s.Addr())
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !res.Close || !strings.Contains(string(body), "too many connections") {
		t.Errorf("%s, %v, %s", res.Status, res.Header, body)
	}
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d more bytes came", n)
	}
	held[0].Close()
	again(t, s.Addr())
}

// TestConnectionsOverTLSAreBounded: the refusal passes where the certificate does.
func TestConnectionsOverTLSAreBounded(t *testing.T) {
	cert, key, pool := certify(t, t.TempDir(), 1)
	s, _ := serve(t, web.Options{Addr: "127.0.0.1:0", Handler: http.HandlerFunc(answer), Cert: cert, Key: key, MaxConnections: 1})
	var status []int
	for range 2 {
		c := client(t)
		c.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL(), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		status = append(status, res.StatusCode)
	}
	if status[0] != 200 || status[1] != 503 {
		t.Error(status)
	}
}

// A from is a listener whose connections come from addresses of the test's own.
type from struct {
	net.Listener
	addr atomic.Pointer[net.TCPAddr]
}

type fromConn struct {
	net.Conn
	addr net.Addr
}

func (f *from) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return fromConn{c, f.addr.Load()}, nil
}

func (c fromConn) RemoteAddr() net.Addr { return c.addr }

// TestConnectionsOfOneAddressAreBounded, and leave room for those of another one.
func TestConnectionsOfOneAddressAreBounded(t *testing.T) {
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &from{Listener: ln}
	s := web.On(f, web.Options{Handler: http.HandlerFunc(answer), MaxConnections: 10, MaxPerAddress: 2})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	come := func(ip string, want int) net.Conn {
		t.Helper()
		f.addr.Store(&net.TCPAddr{IP: net.ParseIP(ip), Port: 1})
		c, res := open(t, s.Addr())
		if res.StatusCode != want {
			t.Fatalf("%s: %s", ip, res.Status)
		}
		return c
	}
	first := come("192.0.2.1", 200)
	come("192.0.2.1", 200)
	come("192.0.2.1", 503)
	come("2001:db8::1", 200)
	come("2001:db8::2", 200)
	come("2001:db8::3", 503) // of the same network
	come("192.0.2.2", 200)
	first.Close()
	again(t, s.Addr())
}
