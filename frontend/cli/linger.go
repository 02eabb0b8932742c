package cli

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lingerTime is how long what was asked may take after the end of the input.
const lingerTime = 30 * time.Second

// listening is a request that is answered when the client has enough of it, which it
// has at the end of the input.
const listening = "subscriptions/listen"

// A lingering is a transport that answers what was asked before its input ended:
// the SDK ends at once, and a script that writes its requests and closes the pipe
// would hear nothing.
type lingering struct{ sdk.Transport }

// Connect implements sdk.Transport.
func (l lingering) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := l.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &lingeringConn{Connection: c, closed: make(chan struct{})}, nil
}

type lingeringConn struct {
	sdk.Connection
	once   sync.Once
	closed chan struct{}

	mu   sync.Mutex
	owed map[jsonrpc.ID]bool // requests that are not answered
	none chan struct{}       // closed when nothing is owed; nil while nobody waits
}

// Read implements sdk.Connection.
func (c *lingeringConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && r.Method != listening {
		c.mu.Lock()
		if c.owed == nil {
			c.owed = map[jsonrpc.ID]bool{}
		}
		c.owed[r.ID] = true
		c.mu.Unlock()
	}
	if errors.Is(err, io.EOF) {
		c.linger(ctx)
	}
	return m, err
}

// linger waits until all is answered.
func (c *lingeringConn) linger(ctx context.Context) {
	c.mu.Lock()
	none := make(chan struct{})
	c.none = none
	if len(c.owed) == 0 {
		close(none)
		c.none = nil
	}
	c.mu.Unlock()
	select {
	case <-none:
	case <-c.closed:
	case <-ctx.Done():
	case <-time.After(lingerTime):
	}
}

// Write implements sdk.Connection.
func (c *lingeringConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.owed, r.ID)
		if len(c.owed) == 0 && c.none != nil {
			close(c.none)
			c.none = nil
		}
		c.mu.Unlock()
	}
	return err
}

// Close implements sdk.Connection.
func (c *lingeringConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
