package network

import (
	"crypto/rand"
	"encoding/binary"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// An icmpProber sends echo requests. Its connection takes in every ICMP packet of
// this machine, so replies are known by the number that the requests carry.
type icmpProber struct {
	conn *icmp.PacketConn
	to   netip.Addr
	id   int // 16 bits
	raw  bool
}

func newICMP(to netip.Addr) (*icmpProber, error) {
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
	return &icmpProber{conn: conn, to: to, id: int(binary.BigEndian.Uint16(id[:])), raw: raw}, nil
}

// Close ends receive.
func (p *icmpProber) Close() error { return p.conn.Close() }

func (p *icmpProber) send(ttl int) error {
	var kind icmp.Type = ipv4.ICMPTypeEcho
	setHops := func(n int) error { return p.conn.IPv4PacketConn().SetTTL(n) }
	if p.to.Is6() {
		kind = ipv6.ICMPTypeEchoRequest
		setHops = func(n int) error { return p.conn.IPv6PacketConn().SetHopLimit(n) }
	}
	m := icmp.Message{Type: kind, Body: &icmp.Echo{ID: p.id, Seq: ttl, Data: make([]byte, 32)}}
	b, err := m.Marshal(nil)
	if err != nil {
		return err
	}
	if err := setHops(ttl); err != nil {
		return err
	}
	var to net.Addr = &net.IPAddr{IP: p.to.AsSlice()}
	if !p.raw {
		to = &net.UDPAddr{IP: p.to.AsSlice()}
	}
	_, err = p.conn.WriteTo(b, to)
	return err
}

// receive takes in replies until the connection is closed.
func (p *icmpProber) receive(note func(int, netip.Addr, string, time.Time)) {
	protocol := 1 // ICMP
	if p.to.Is6() {
		protocol = 58
	}
	buf := make([]byte, 1500)
	for {
		n, peer, err := p.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		now := time.Now()
		m, err := icmp.ParseMessage(protocol, buf[:n])
		if err != nil {
			continue // of somebody else, or broken
		}
		ttl, what, ok := p.match(m)
		if !ok {
			continue
		}
		note(ttl, peerAddr(peer), what, now)
	}
}

// match returns for which hop a message is the reply.
func (p *icmpProber) match(m *icmp.Message) (ttl int, what string, ok bool) {
	switch body := m.Body.(type) {
	case *icmp.Echo:
		if m.Type != ipv4.ICMPTypeEchoReply && m.Type != ipv6.ICMPTypeEchoReply {
			return 0, "", false
		}
		return body.Seq, reached, body.ID == p.id
	case *icmp.TimeExceeded:
		id, seq, ok := quoted(body.Data, p.to.Is6())
		return seq, "", ok && id == p.id
	case *icmp.DstUnreach:
		id, seq, ok := quoted(body.Data, p.to.Is6())
		return seq, "says unreachable", ok && id == p.id
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
