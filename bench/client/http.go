package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"
)

// goodbye bounds what is said to a server that is left.
const goodbye = 2 * time.Second

// httpConn is one keep-alive connection to a streamable HTTP endpoint.
type httpConn struct {
	net.Conn
	r              *Reader
	host, path     string
	session        string
	version        string
	closedByServer bool
}

var _ connection = (*httpConn)(nil)

// dial connects to the endpoint.
func dial(ctx context.Context, endpoint string) (*httpConn, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" {
		return nil, fmt.Errorf("%s: only http is spoken", endpoint)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	return &httpConn{Conn: conn, r: NewReader(conn), host: u.Host, path: u.RequestURI()}, nil
}

func (c *httpConn) frame(msg []byte) ([]byte, int) {
	b := c.head("POST")
	b = append(b, "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"...)
	b = fmt.Appendf(b, "Content-Length: %d\r\n\r\n", len(msg))
	return append(b, msg...), len(b)
}

// head returns the beginning of a request's head.
func (c *httpConn) head(method string) []byte {
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, c.path, c.host)
	if c.session != "" {
		b = fmt.Appendf(b, "Mcp-Session-Id: %s\r\n", c.session)
	}
	if c.version != "" {
		b = fmt.Appendf(b, "MCP-Protocol-Version: %s\r\n", c.version)
	}
	return b
}

func (c *httpConn) exchange(framed, match []byte, keep int, a *Answer) error {
	if c.closedByServer {
		return broken(errors.New("the server has closed it"))
	}
	if _, err := c.Write(framed); err != nil {
		return broken(err)
	}
	h, err := c.r.Next(match, keep, a)
	if err != nil {
		return broken(err)
	}
	c.closedByServer = h.Close
	if h.Session != "" {
		c.session = h.Session
	}
	if h.Status >= 300 {
		return fmt.Errorf("HTTP status %d: %.300s", h.Status, a.Head)
	}
	return nil
}

func (c *httpConn) send(framed []byte) error {
	var a Answer
	return c.exchange(framed, nil, KeepHead, &a)
}

func (c *httpConn) agreed(version string) { c.version = version }

func (c *httpConn) setDeadline(t time.Time) error { return c.SetDeadline(t) }

// close tells the server that the session has ended, as far as it listens.
func (c *httpConn) close() error {
	if c.session != "" && !c.closedByServer {
		if err := c.SetDeadline(time.Now().Add(goodbye)); err == nil {
			_ = c.send(append(c.head("DELETE"), "\r\n"...)) // it may refuse, and then knows no sessions to end
		}
	}
	return c.Close()
}

// Status returns the status that a GET of the URL is answered with.
func Status(ctx context.Context, endpoint string) (int, error) {
	c, err := dial(ctx, endpoint)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return 0, err
		}
	}
	if _, err := c.Write(append(c.head("GET"), "Connection: close\r\n\r\n"...)); err != nil {
		return 0, err
	}
	var a Answer
	h, err := c.r.Next(nil, KeepHead, &a)
	return h.Status, err
}
