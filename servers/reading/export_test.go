package reading

import (
	"context"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Knobs are what tests turn.
type Knobs struct {
	Getenv  func(string) string
	Waits   []time.Duration
	Timeout time.Duration
	Temp    string
	Cache   string
	Command []string
	// Web is the address of a server that stands for all public hosts.
	Web string
}

// NewFor returns a server with its knobs turned.
func NewFor(o Options, k Knobs) (*mcp.Server, error) {
	if k.Getenv == nil {
		k.Getenv = func(name string) string {
			if strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_URL") {
				return ""
			}
			return os.Getenv(name)
		}
	}
	o.Proxy = "none"
	if o.Browser == "" {
		o.Browser = "-"
	}
	s, err := build(o, k.Getenv)
	if err != nil {
		return nil, err
	}
	s.waits, s.temp, s.cache, s.command = k.Waits, k.Temp, k.Cache, k.Command
	if k.Timeout > 0 {
		s.timeout = k.Timeout
	}
	s.guard.Lookup = func(_ context.Context, name string) ([]netip.Addr, error) {
		if k.Web == "" || name == "gone.example" {
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		}
		return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
	}
	direct := s.guard.Dial
	s.guard.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if k.Web != "" && address == "93.184.215.14:80" {
			address = k.Web
		}
		return direct(ctx, network, address)
	}
	return s.mcp(), nil
}

// Own is how many characters an answer may have.
const Own = maxChars
