package network

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

// firstPort is the port of the packet that is to live for no hop. Those of a trace
// follow it; nobody listens there, so the host says that the port is closed.
const firstPort = 33434

// A udpProber sends UDP packets, for which nobody needs a right. Linux tells a
// socket what routers said of its packets, if it is asked to (IP_RECVERR).
type udpProber struct {
	conn *net.UDPConn
	raw  syscall.RawConn
	to   netip.Addr
}

func newUDP(to netip.Addr) (prober, error) {
	network := "udp4"
	if to.Is6() {
		network = "udp6"
	}
	conn, err := net.ListenUDP(network, nil)
	if err != nil {
		return nil, err
	}
	raw, err := conn.SyscallConn()
	if err == nil {
		var set error
		err = raw.Control(func(fd uintptr) {
			if to.Is6() {
				set = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1)
			} else {
				set = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_RECVERR, 1)
			}
		})
		err = errors.Join(err, set)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &udpProber{conn, raw, to}, nil
}

// Close ends receive.
func (p *udpProber) Close() error { return p.conn.Close() }

func (p *udpProber) send(ttl int) error {
	var err error
	if p.to.Is6() {
		err = ipv6.NewPacketConn(p.conn).SetHopLimit(ttl)
	} else {
		err = ipv4.NewPacketConn(p.conn).SetTTL(ttl)
	}
	if err != nil {
		return err
	}
	for range 3 { // an error of a packet before this one is told here, too
		_, err = p.conn.WriteToUDPAddrPort(make([]byte, 32), netip.AddrPortFrom(p.to, uint16(firstPort+ttl)))
		if !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.EHOSTUNREACH) && !errors.Is(err, unix.ENETUNREACH) {
			return err
		}
	}
	return nil
}

func (p *udpProber) receive(note func(ttl int, from netip.Addr, what string, now time.Time)) {
	data, oob := make([]byte, 512), make([]byte, 512)
	for {
		var oobn int
		var about unix.Sockaddr
		var failed error
		err := p.raw.Read(func(fd uintptr) bool {
			_, oobn, _, about, failed = unix.Recvmsg(int(fd), data, oob, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
			return !errors.Is(failed, unix.EAGAIN)
		})
		if err != nil {
			return // closed
		}
		if failed != nil {
			continue
		}
		if from, what, ok := said4or6(oob[:oobn], p.to); ok {
			note(portOf(about)-firstPort, from, what, time.Now())
		}
	}
}

func portOf(a unix.Sockaddr) int {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return a.Port
	case *unix.SockaddrInet6:
		return a.Port
	}
	return 0
}

// said4or6 reads who said what of a packet.
func said4or6(oob []byte, to netip.Addr) (from netip.Addr, what string, ok bool) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return netip.Addr{}, "", false
	}
	for _, m := range messages {
		v4 := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_RECVERR
		v6 := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_RECVERR
		if v4 || v6 {
			return extended(m.Data, to)
		}
	}
	return netip.Addr{}, "", false
}

// extended reads a struct sock_extended_err and the address that follows it.
func extended(b []byte, to netip.Addr) (from netip.Addr, what string, ok bool) {
	const head = 16
	if len(b) < head+8 {
		return netip.Addr{}, "", false
	}
	origin, kind, code := b[4], b[5], b[6]
	addr := b[head:]
	switch family := binary.NativeEndian.Uint16(addr); {
	case family == unix.AF_INET && origin == unix.SO_EE_ORIGIN_ICMP:
		from = netip.AddrFrom4([4]byte(addr[4:8]))
	case family == unix.AF_INET6 && origin == unix.SO_EE_ORIGIN_ICMP6 && len(addr) >= 24:
		from = netip.AddrFrom16([16]byte(addr[8:24]))
	default:
		return netip.Addr{}, "", false
	}
	exceeded := kind == 11 && origin == unix.SO_EE_ORIGIN_ICMP || kind == 3 && origin == unix.SO_EE_ORIGIN_ICMP6
	closed := kind == 3 && code == 3 && origin == unix.SO_EE_ORIGIN_ICMP || kind == 1 && code == 4 && origin == unix.SO_EE_ORIGIN_ICMP6
	switch {
	case exceeded:
		return from, "", true
	case closed && from == to:
		return from, reached, true
	}
	return from, "says unreachable", true
}
