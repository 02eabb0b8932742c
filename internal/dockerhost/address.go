package dockerhost

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unicode"
)

// parse reads the address of an engine in the forms in which people give it, and
// returns it as unix:///path, npipe:////./pipe/name or tcp://host[:port][/path].
// Secure is set where its scheme wants TLS.
func parse(s string) (address string, secure bool, err error) {
	if strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) >= 0 || len(s) > 1024 {
		return "", false, errors.New("the address holds spaces or control characters, or is too long")
	}
	if filepath.IsAbs(s) && !strings.Contains(s, "://") {
		s = "unix://" + filepath.ToSlash(s)
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return "", false, fmt.Errorf("%q has no scheme; write unix:///run/docker.sock or tcp://host:2376", s)
	}
	switch scheme {
	case "unix":
		if !strings.HasPrefix(rest, "/") && !filepath.IsAbs(filepath.FromSlash(rest)) {
			return "", false, fmt.Errorf("%q: the path of a socket must be absolute, as in unix:///run/docker.sock", s)
		}
		return s, false, nil
	case "npipe":
		if runtime.GOOS != "windows" {
			return "", false, fmt.Errorf("%q: named pipes are of Windows; use unix:///run/docker.sock here", s)
		}
		return s, false, nil
	case "tcp", "http", "https":
		rest, err := parseTCP(rest)
		return "tcp://" + rest, scheme == "https", err
	case "ssh":
		return "", false, errors.New("an engine behind ssh:// is not reached directly: forward its socket with " +
			"`ssh -nNT -L /run/user/1000/engine.sock:/var/run/docker.sock user@host`, and give unix:///run/user/1000/engine.sock")
	}
	return "", false, fmt.Errorf("%q: the scheme must be unix, tcp or npipe", s)
}

func parseTCP(rest string) (string, error) {
	u, err := url.Parse("tcp://" + rest)
	switch {
	case err != nil:
		return "", errors.New("the address is no host with a port, as in tcp://10.0.0.5:2376")
	case u.User != nil:
		return "", errors.New("the address must hold no user or password; an engine knows its clients by their certificates")
	case u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the address is no host with a port, as in tcp://10.0.0.5:2376")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return "", fmt.Errorf("%q is no port", p)
		}
	}
	if _, err := netip.ParseAddr(u.Hostname()); err != nil && strings.ContainsAny(u.Hostname(), ":%") {
		return "", fmt.Errorf("%q is no host", u.Hostname())
	}
	return strings.TrimSuffix(u.Host+u.Path, "/"), nil
}
