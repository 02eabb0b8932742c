package outlet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A link is a connection of a sandbox. It counts, and ends when nothing moves.
type link struct {
	conn           io.ReadWriteCloser
	line           *Line
	idle           *time.Timer
	sent, received atomic.Int64
}

var errSpent = errors.New("the sandbox has sent and received as much as it may")

// Read reads what the code sends.
func (k *link) Read(b []byte) (int, error) {
	n, err := k.conn.Read(b)
	k.sent.Add(int64(n))
	return n, k.moved(n, err)
}

// Write writes what the code receives.
func (k *link) Write(b []byte) (int, error) {
	n, err := k.conn.Write(b)
	k.received.Add(int64(n))
	return n, k.moved(n, err)
}

func (k *link) moved(n int, err error) error {
	k.idle.Reset(k.line.o.o.Idle)
	if k.line.bytes.Add(int64(n)) > k.line.o.o.MaxBytes && err == nil {
		return errSpent
	}
	return err
}

// Serve serves one connection to the proxy, and closes it. It returns when that has
// ended, at the latest with ctx.
func (l *Line) Serve(ctx context.Context, conn io.ReadWriteCloser) {
	ctx, cancel := context.WithTimeout(ctx, l.o.o.Longest)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // so that reads and writes end
	defer func() {
		if stop() {
			_ = conn.Close() // all was written
		}
	}()
	k := &link{conn: conn, line: l, idle: time.AfterFunc(l.o.o.Idle, cancel)}
	defer k.idle.Stop()
	defer l.open.Add(-1)
	switch open := l.open.Add(1); {
	case open > maxOpen:
		k.refuse(http.StatusServiceUnavailable, fmt.Sprintf("the sandbox has %d connections already, which is the most", maxOpen))
		return
	case l.total.Add(1) > maxTotal:
		k.refuse(http.StatusServiceUnavailable, fmt.Sprintf("the sandbox has had %d connections, which is the most", maxTotal))
		return
	case l.bytes.Load() > l.o.o.MaxBytes:
		k.refuse(http.StatusServiceUnavailable, fmt.Sprintf("the sandbox has sent and received its %d MiB: create another one", l.o.o.MaxBytes>>20))
		return
	}
	head := &io.LimitedReader{R: k, N: maxHead}
	r := bufio.NewReader(head)
	req, err := http.ReadRequest(r)
	if err != nil {
		switch {
		case head.N <= 0:
			k.refuse(http.StatusRequestHeaderFieldsTooLarge, "the head of the request is too large")
		case !errors.Is(err, io.EOF):
			k.refuse(http.StatusBadRequest, "this is no request for a proxy of HTTP")
		}
		return
	}
	head.N = math.MaxInt64 // the rest is bounded by what the sandbox may send
	began := time.Now()
	if req.Method == http.MethodConnect {
		err = k.tunnel(ctx, cancel, req.URL.Host, r)
	} else {
		err = k.forward(ctx, req)
	}
	log := l.o.o.Logger.With("sandbox", l.name, "host", cut(req.URL.Host), "sent", k.sent.Load(), "received", k.received.Load(), "took", time.Since(began).Round(time.Millisecond))
	if err != nil {
		log.Warn("connection of a sandbox", "error", err.Error())
		return
	}
	log.Info("connection of a sandbox")
}

// cut bounds what a sandbox has written into the log.
func cut(host string) string {
	if len(host) > 300 {
		host = host[:300]
	}
	return strings.ToValidUTF8(host, "_")
}

// fail answers with what has gone wrong before anything was answered.
func (k *link) fail(err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		k.refuse(http.StatusForbidden, r.text)
		return r
	}
	k.refuse(http.StatusBadGateway, "the host does not answer: "+err.Error())
	return err
}

// refuse answers by a text. It is the reason too, which is all that most clients show of
// a tunnel that was refused.
func (k *link) refuse(status int, text string) {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, text)
	const most = 600
	if len(text) > most {
		text = text[:most]
	}
	_, _ = fmt.Fprintf(k, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		status, text, len(text)+1, text) // who does not read it has gone
}

// tunnel passes bytes both ways.
func (k *link) tunnel(ctx context.Context, cancel context.CancelFunc, host string, from io.Reader) error {
	up, err := k.line.o.dial(ctx, host)
	if err != nil {
		return k.fail(err)
	}
	defer func() { _ = up.Close() }() // whoever has not read all does not want it
	stop := context.AfterFunc(ctx, func() { _ = up.Close() })
	defer stop()
	if _, err := io.WriteString(k, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return err
	}
	var sending sync.WaitGroup
	var failed error
	sending.Go(func() {
		if _, failed = io.Copy(up, from); failed != nil {
			cancel() // the other half has no use then
			return
		}
		if half, ok := up.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite() // the host learns that no more comes
		}
	})
	_, err = io.Copy(k, up)
	spent := errors.Is(err, errSpent)
	cancel() // the host has said all
	sending.Wait()
	if spent || errors.Is(failed, errSpent) {
		return errSpent
	}
	return nil // who has ended it first does not matter
}

// hop are headers that are meant for the proxy.
var hop = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect"}

func dropHop(h http.Header) {
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hop {
		h.Del(name)
	}
}

// forward asks for what a plain request wants, once.
func (k *link) forward(ctx context.Context, req *http.Request) error {
	if req.URL.Scheme != "http" || req.URL.Host == "" {
		err := &refusal{"refused: ask this proxy for a whole http URL, and for https by CONNECT"}
		k.refuse(http.StatusBadRequest, err.text)
		return err
	}
	continues := strings.EqualFold(req.Header.Get("Expect"), "100-continue")
	out := req.Clone(ctx)
	out.RequestURI, out.URL.User = "", nil
	out.Host = out.URL.Host // not another one of the same machine
	dropHop(out.Header)
	if _, set := out.Header["User-Agent"]; !set {
		out.Header["User-Agent"] = nil // none of ours
	}
	if out.ContentLength == 0 {
		out.Body = http.NoBody
	}
	if continues {
		if _, err := io.WriteString(k, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return err
		}
	}
	resp, err := k.line.o.direct.RoundTrip(out)
	if err != nil {
		return k.fail(err)
	}
	defer func() { _ = resp.Body.Close() }() // who has not read all does not want it
	dropHop(resp.Header)
	resp.Proto, resp.ProtoMajor, resp.ProtoMinor, resp.Close = "HTTP/1.1", 1, 1, true
	if err := resp.Write(k); errors.Is(err, errSpent) {
		return errSpent
	}
	return nil
}
