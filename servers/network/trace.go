package network

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/tenon-mcp/tenon/internal/egress"
)

const traceChars = 3500

// Timing of a trace: all hops are probed side by side, in rounds, each round for
// those that have not answered.
const (
	traceRounds  = 3
	traceWait    = 2 * time.Second
	traceSpacing = 20 * time.Millisecond // routers answer only so many packets a second
)

type traceInput struct {
	Host    string `json:"host" jsonschema:"name or address of the host"`
	MaxHops int    `json:"max_hops,omitempty" jsonschema:"how far to look, 1 to 30; a number outside is brought to the nearest"`
}

func (s *server) addTrace(srv *mcp.Server) {
	add(srv, spec{
		name: "traceroute", title: "Traceroute",
		description: "Returns the routers on the way to a host with their round-trip times, up to 30 hops, in at most ten seconds. Shows where packets get lost or slow. Addresses of internal routers are not shown. Internal hosts are refused unless the operator opened them.",
		defaults:    map[string]any{"max_hops": 30},
	}, s.traceroute)
}

// A reply is what came back for the packet that was to live for so many hops.
type reply struct {
	from netip.Addr
	rtt  time.Duration
	what string // empty: a router on the way; else what ends the trace
}

func (s *server) traceroute(ctx context.Context, in traceInput) (string, error) {
	hops := clamp(in.MaxHops, 1, 30)
	t, err := s.guard.Resolve(ctx, in.Host, 0)
	if err != nil {
		return "", err
	}
	tr, err := newTrace(ctx, t.Addrs[0], hops)
	if isPermission(err) {
		return "", errors.New(mayNotPing("traceroute"))
	}
	if err != nil {
		return "", fmt.Errorf("traceroute to %s: %s", t.Name, plain(err.Error(), 200))
	}
	if err := tr.run(ctx); err != nil {
		return "", fmt.Errorf("traceroute to %s: %s. check_port may tell more", t.Name, plain(err.Error(), 200))
	}
	return s.traceText(t, tr), nil
}

func (s *server) traceText(t egress.Target, tr *trace) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Traceroute to %s (%s)\n\n```\n", t.Name, t.Addrs[0])
	last := tr.lastHop()
	for ttl := 1; ttl <= last; ttl++ {
		r, ok := tr.replies[ttl]
		switch {
		case !ok:
			fmt.Fprintf(&b, "%2d  no answer\n", ttl)
		case r.from != t.Addrs[0] && s.guard.Refuses(r.from, "", 0) != "":
			fmt.Fprintf(&b, "%2d  (internal router)  %s  %s\n", ttl, ms(r.rtt), r.what)
		default:
			fmt.Fprintf(&b, "%2d  %s  %s  %s\n", ttl, r.from, ms(r.rtt), r.what)
		}
	}
	b.WriteString("```\n")
	switch r := tr.replies[last]; {
	case last == 0:
		b.WriteString("No router answered. A firewall near this machine may drop the packets.\n")
	case r.what == "reached":
		fmt.Fprintf(&b, "Reached after %d hops.\n", last)
	default:
		fmt.Fprintf(&b, "Not reached within %d hops; the last answer is of hop %d. What lies behind may not answer pings: try check_port.\n", tr.hops, last)
	}
	return b.String()
}

// A trace is one run. Its connection takes in every ICMP packet of this machine,
// so replies are known by the number that the requests carry.
type trace struct {
	conn *icmp.PacketConn
	to   netip.Addr
	hops int
	id   int // 16 bits
	raw  bool

	mu      sync.Mutex
	sent    map[int]time.Time
	replies map[int]reply
}

func newTrace(ctx context.Context, to netip.Addr, hops int) (*trace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var id [2]byte // tells runs apart
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	network, listen := "ip4:icmp", "0.0.0.0"
	if to.Is6() {
		network, listen = "ip6:ipv6-icmp", "::"
	}
	conn, err := icmp.ListenPacket(network, listen)
	raw := true
	if isPermission(err) && runtime.GOOS == "darwin" { // whose sockets for pings give what routers say, too
		network, raw = strings.Replace(network[:3], "ip", "udp", 1), false
		conn, err = icmp.ListenPacket(network, listen)
	}
	if err != nil {
		return nil, err
	}
	return &trace{
		conn: conn, to: to, hops: hops, id: int(binary.BigEndian.Uint16(id[:])), raw: raw,
		sent: map[int]time.Time{}, replies: map[int]reply{},
	}, nil
}

// run sends and receives, and closes the connection.
func (tr *trace) run(ctx context.Context) error {
	var receiving sync.WaitGroup
	receiving.Go(tr.receive)
	defer receiving.Wait()
	defer tr.conn.Close()
	for range traceRounds {
		if err := tr.sendRound(ctx); err != nil {
			return err
		}
		if err := tr.wait(ctx); err != nil {
			return err
		}
		if tr.complete() {
			return nil
		}
	}
	return nil
}

// sendRound sends a packet for each hop that is missing, up to the target.
func (tr *trace) sendRound(ctx context.Context) error {
	for ttl := 1; ttl <= tr.hops; ttl++ {
		if !tr.missing(ttl) {
			continue
		}
		if err := tr.send(ttl); err != nil {
			return err
		}
		if err := sleep(ctx, traceSpacing); err != nil {
			return err
		}
	}
	return nil
}

// wait gives the last packets of a round their time, or less where all came back.
func (tr *trace) wait(ctx context.Context) error {
	for end := time.Now().Add(traceWait); time.Now().Before(end) && !tr.complete(); {
		if err := sleep(ctx, traceSpacing); err != nil {
			return err
		}
	}
	return nil
}

func (tr *trace) missing(ttl int) bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	_, have := tr.replies[ttl]
	return !have && ttl <= tr.end()
}

// end returns the first hop that ended the trace, else the number of hops.
// The caller holds mu.
func (tr *trace) end() int {
	end := tr.hops
	for ttl, r := range tr.replies {
		if r.what != "" {
			end = min(end, ttl)
		}
	}
	return end
}

func (tr *trace) complete() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for ttl := 1; ttl <= tr.end(); ttl++ {
		if _, ok := tr.replies[ttl]; !ok {
			return false
		}
	}
	return true
}

// lastHop returns the last hop that is worth showing.
func (tr *trace) lastHop() int {
	last := 0
	for ttl := range tr.replies {
		last = max(last, ttl)
	}
	return min(last, tr.end())
}

func (tr *trace) send(ttl int) error {
	var kind icmp.Type = ipv4.ICMPTypeEcho
	setHops := func(n int) error { return tr.conn.IPv4PacketConn().SetTTL(n) }
	if tr.to.Is6() {
		kind = ipv6.ICMPTypeEchoRequest
		setHops = func(n int) error { return tr.conn.IPv6PacketConn().SetHopLimit(n) }
	}
	m := icmp.Message{Type: kind, Body: &icmp.Echo{ID: tr.id, Seq: ttl, Data: make([]byte, 32)}}
	b, err := m.Marshal(nil)
	if err != nil {
		return err
	}
	if err := setHops(ttl); err != nil {
		return err
	}
	var to net.Addr = &net.IPAddr{IP: tr.to.AsSlice()}
	if !tr.raw {
		to = &net.UDPAddr{IP: tr.to.AsSlice()}
	}
	tr.mu.Lock()
	tr.sent[ttl] = time.Now()
	tr.mu.Unlock()
	_, err = tr.conn.WriteTo(b, to)
	return err
}

// receive takes in replies until the connection is closed.
func (tr *trace) receive() {
	protocol := 1 // ICMP
	if tr.to.Is6() {
		protocol = 58
	}
	buf := make([]byte, 1500)
	for {
		n, peer, err := tr.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		now := time.Now()
		m, err := icmp.ParseMessage(protocol, buf[:n])
		if err != nil {
			continue // of somebody else, or broken
		}
		ttl, what, ok := tr.match(m)
		if !ok {
			continue
		}
		tr.note(ttl, peerAddr(peer), what, now)
	}
}

func (tr *trace) note(ttl int, from netip.Addr, what string, now time.Time) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	sent, was := tr.sent[ttl]
	if _, have := tr.replies[ttl]; was && !have {
		tr.replies[ttl] = reply{from, now.Sub(sent), what}
	}
}

// match returns for which hop a message is the reply.
func (tr *trace) match(m *icmp.Message) (ttl int, what string, ok bool) {
	switch body := m.Body.(type) {
	case *icmp.Echo:
		if m.Type != ipv4.ICMPTypeEchoReply && m.Type != ipv6.ICMPTypeEchoReply {
			return 0, "", false
		}
		return body.Seq, "reached", body.ID == tr.id
	case *icmp.TimeExceeded:
		id, seq, ok := quoted(body.Data, tr.to.Is6())
		return seq, "", ok && id == tr.id
	case *icmp.DstUnreach:
		id, seq, ok := quoted(body.Data, tr.to.Is6())
		return seq, "says unreachable", ok && id == tr.id
	}
	return 0, "", false
}

// quoted returns identifier and sequence number of the echo request that a
// router quotes: its IP header and the first eight bytes behind it.
func quoted(b []byte, v6 bool) (id, seq int, ok bool) {
	header := 40
	if !v6 {
		if len(b) == 0 {
			return 0, 0, false
		}
		header = int(b[0]&0x0f) * 4
	}
	if len(b) < header+8 {
		return 0, 0, false
	}
	echo := b[header:]
	return int(binary.BigEndian.Uint16(echo[4:])), int(binary.BigEndian.Uint16(echo[6:])), true
}

func peerAddr(a net.Addr) netip.Addr {
	var ip net.IP
	switch a := a.(type) {
	case *net.IPAddr:
		ip = a.IP
	case *net.UDPAddr:
		ip = a.IP
	}
	addr, _ := netip.AddrFromSlice(ip)
	return addr.Unmap()
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return errors.New("canceled")
	case <-t.C:
		return nil
	}
}
