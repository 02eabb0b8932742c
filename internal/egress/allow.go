package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// An opening is one entry of the option allow: a network, an address or a name,
// with or without a port.
type opening struct {
	prefix netip.Prefix // valid for a network or an address
	name   string       // for a name: ASCII, lower case; ".example.com" for *.example.com
	port   int          // 0: every port, and tools that know no ports
}

// parseOpening reads 10.0.0.0/8, 10.1.2.3:443, [fd00::1]:443, [fd00::/8]:443,
// db.internal, db.internal:5432 or *.corp.example.
func parseOpening(s string) (opening, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return opening{}, errors.New("it is empty")
	}
	if a, err := netip.ParseAddr(s); err == nil {
		return openAddress(a, 0)
	}
	if p, err := netip.ParsePrefix(s); err == nil {
		return opening{prefix: p.Masked()}, nil
	}
	host, port, err := SplitPort(s)
	if err != nil {
		return opening{}, err
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return openAddress(a, port)
	}
	if p, err := netip.ParsePrefix(host); err == nil {
		return opening{prefix: p.Masked(), port: port}, nil
	}
	rest, wild := strings.CutPrefix(host, "*.")
	h, err := ParseHost(rest)
	if err != nil {
		return opening{}, err
	}
	if wild {
		return opening{name: "." + h.Name, port: port}, nil
	}
	return opening{name: h.Name, port: port}, nil
}

func openAddress(a netip.Addr, port int) (opening, error) {
	if a.Zone() != "" {
		return opening{}, errors.New("an address with a zone cannot be opened")
	}
	a = a.Unmap()
	return opening{prefix: netip.PrefixFrom(a, a.BitLen()), port: port}, nil
}

// SplitPort cuts the port off host:port, [host]:port and host; 0 for none.
func SplitPort(s string) (host string, port int, err error) {
	var rest string
	if inner, ok := strings.CutPrefix(s, "["); ok {
		var closed bool
		if host, rest, closed = strings.Cut(inner, "]"); !closed {
			return "", 0, errors.New("a bracket is not closed")
		}
		if rest == "" {
			return host, 0, nil
		}
		if !strings.HasPrefix(rest, ":") {
			return "", 0, fmt.Errorf("%q follows the bracket", rest)
		}
		rest = rest[1:]
	} else {
		i := strings.LastIndexByte(s, ':')
		if i < 0 {
			return s, 0, nil
		}
		host, rest = s[:i], s[i+1:]
	}
	n, err := strconv.ParseUint(rest, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%q is no port", rest)
	}
	return host, int(n), nil
}

func (o opening) opensPort(port int) bool { return o.port == 0 || o.port == port }

func (o opening) opensName(name string) bool {
	if strings.HasPrefix(o.name, ".") {
		return strings.HasSuffix(name, o.name) && len(name) > len(o.name)
	}
	return o.name != "" && o.name == name
}
