// Package outlet is the one way by which code in a sandbox reaches the web: a proxy for
// HTTP that runs outside, in the server's process, and looks at each connection.
//
//	o, err := outlet.New(outlet.Options{Server: "python", Network: []string{"pypi.org", "*.pythonhosted.org"}})
//	spec.Network = o.For("sbx_4f7yq2kd").Serve // of sandbox.Spec: a back end calls it for each connection
//
// A sandbox has no route to anywhere. Its back end takes connections to a port of the
// sandbox's own loopback, and hands them to Serve, by whatever way it has: a socket
// that is passed on, or the two ends of a pipe. Code finds the proxy by the usual
// variables ([sandbox.ProxyEnv]); CONNECT and plain requests are taken.
//
// What is reached is what the list names, and of that public addresses only, unless the
// list names the address itself: a name belongs to whoever answers for it, and must not
// become a way inside. The name is resolved here, once; all its addresses are checked,
// and one of these is dialled (internal/egress). A redirect is a new request of the
// client's, which is looked at like any other.
//
// A sandbox may have so many connections and bytes, and a connection so much time. Each
// is noted in the log, with the sandbox, the host and the bytes. What goes through a
// tunnel is not looked into.
package outlet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// Public is the entry of Network that stands for all public hosts.
const Public = "public"

// Bounds of one sandbox and of one connection.
const (
	DefaultMaxBytes = 1 << 30

	maxOpen  = 32
	maxTotal = 20_000
	maxHead  = 64 << 10
)

// Options say what is reached.
type Options struct {
	// Network are hosts: names, *.example.com, addresses and networks, each with a port
	// or for 80 and 443; or Public.
	Network []string
	Server  string // whose option that is, for the texts
	// MaxBytes bounds what one sandbox sends and receives in all; 0 is DefaultMaxBytes.
	MaxBytes int64
	// Idle ends a connection on which nothing moves, and Longest any; 0 are 2 minutes and an hour.
	Idle, Longest time.Duration
	Logger        *slog.Logger // nil is the usual one
	// Lookup resolves names; nil is the system.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
}

// An Outlet is the proxy of all sandboxes.
type Outlet struct {
	o      Options
	public bool
	listed *egress.Guard // says what is on the list
	dialer *egress.Guard // opens the addresses of the list, besides the public ones
	direct *http.Transport
}

// webPorts are those of entries without a port.
var webPorts = []int{80, 443}

// New returns the proxy. Its error names the option.
func New(o Options) (*Outlet, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Idle == 0 {
		o.Idle = 2 * time.Minute
	}
	if o.Longest == 0 {
		o.Longest = time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	out := &Outlet{o: o}
	var names, addresses []string
	for _, entry := range o.Network {
		entry = strings.TrimSpace(entry)
		if entry == Public {
			out.public = true
			continue
		}
		if _, err := egress.NewGuard("", []string{entry}); err != nil {
			return nil, fmt.Errorf("option network: %q is neither %s nor a host: %w", entry, Public, errors.Unwrap(err))
		}
		all, address := spell(entry)
		names = append(names, all...)
		if address {
			addresses = append(addresses, all...)
		}
	}
	var err error
	if out.listed, err = egress.NewGuard("", names); err != nil {
		return nil, fmt.Errorf("option network: %w", err)
	}
	if out.dialer, err = egress.NewGuard("", addresses); err != nil {
		return nil, fmt.Errorf("option network: %w", err)
	}
	if o.Lookup != nil {
		out.dialer.Lookup = o.Lookup
	}
	out.direct = &http.Transport{
		DialContext:       func(ctx context.Context, _, address string) (net.Conn, error) { return out.dial(ctx, address) },
		DisableKeepAlives: true, DisableCompression: true,
		ResponseHeaderTimeout: o.Idle, MaxResponseHeaderBytes: maxHead,
	}
	return out, nil
}

// spell gives an entry its ports, and says whether it is an address or a network.
func spell(entry string) (all []string, address bool) {
	host, port := entry, 0
	if !isAddress(entry) {
		host, port, _ = egress.SplitPort(entry) // it was read before
	}
	ports := webPorts
	if port != 0 {
		ports = []int{port}
	}
	for _, p := range ports {
		all = append(all, net.JoinHostPort(host, strconv.Itoa(p)))
	}
	return all, isAddress(host)
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	if err != nil {
		_, err = netip.ParsePrefix(s)
	}
	return err == nil
}

// For returns the outlet of one sandbox. The name is for the log.
func (o *Outlet) For(sandbox string) *Line { return &Line{o: o, name: sandbox} }

// A Line is the outlet of one sandbox.
type Line struct {
	o     *Outlet
	name  string
	open  atomic.Int32
	total atomic.Int32
	bytes atomic.Int64
}

// A refusal is the error for what the list does not hold.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// dial connects to a host of the list, at an address that was looked at.
func (o *Outlet) dial(ctx context.Context, address string) (net.Conn, error) {
	named, p, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &refusal{"refused: this is no host with a port"}
	}
	h, err := egress.ParseHost(named)
	if err != nil {
		return nil, &refusal{"refused: " + strings.TrimPrefix(err.Error(), "refused: ")}
	}
	port, err := strconv.ParseUint(p, 10, 16)
	if err != nil || port == 0 {
		return nil, &refusal{"refused: the port is not between 1 and 65535"}
	}
	web := port == 80 || port == 443
	if (!o.public || !web) && !o.listed.Names(h, int(port)) {
		return nil, &refusal{fmt.Sprintf("refused: %s is not among the hosts that sandboxes reach (%s). An operator can add it to the option network of the server %s",
			net.JoinHostPort(h.Name, p), o.reached(), o.o.Server)}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	conn, err := o.dialer.DialContext(ctx, "tcp", net.JoinHostPort(h.Name, p))
	if _, ok := errors.AsType[*egress.Refusal](err); ok {
		return nil, &refusal{fmt.Sprintf("%s Names lead to public addresses alone; what is inside is listed by its address, in the option network of the server %s", err.Error(), o.o.Server)}
	}
	return conn, err
}

// reached says what may be reached.
func (o *Outlet) reached() string {
	const most = 10
	list := o.o.Network
	if len(list) > most {
		return strings.Join(list[:most], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}

// Loopback returns those addresses of this machine's loopback that are on the list, with
// whatever port.
func (o *Outlet) Loopback() []string {
	var out []string
	for _, at := range []string{"127.0.0.1", "::1"} {
		for _, entry := range o.o.Network {
			all, _ := spell(strings.TrimSpace(entry))
			host, _, _ := net.SplitHostPort(all[0]) // it was put together there
			p, err := netip.ParsePrefix(host)
			if host == at || err == nil && p.Contains(netip.MustParseAddr(at)) {
				out = append(out, at)
				break
			}
		}
	}
	return out
}

// Hosts says for a model what code in a sandbox reaches.
func (o *Outlet) Hosts() string { return o.reached() }
