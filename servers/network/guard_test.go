package network_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/servers/network"
)

// refusedAddresses has one address at least of every range that is refused, and
// the edges of some.
var refusedAddresses = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
	"169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.2", "192.88.99.1", "192.168.0.1",
	"198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
	"168.63.129.16", "100.100.100.200", "192.0.0.192",
	"::", "::1", "::7f00:1", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001::1", "2001:2::1", "2001:10::1",
	"2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fdff::1",
	"fe80::1", "fec0::1", "ff02::1", "4000::1",
}

var publicAddresses = []string{
	"1.1.1.1", "8.8.8.8", "93.184.215.14", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
	"169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
	"2606:4700:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888", "2003::1", "2620:4f:8000::1",
}

func TestSpecialAddresses(t *testing.T) {
	for _, s := range refusedAddresses {
		if egress.Special(netip.MustParseAddr(s)) == "" {
			t.Errorf("%s is taken for public", s)
		}
	}
	for _, s := range publicAddresses {
		if why := egress.Special(netip.MustParseAddr(s)); why != "" {
			t.Errorf("%s is taken for %s", s, why)
		}
	}
	for _, a := range []netip.Addr{{}, netip.MustParseAddr("::ffff:8.8.8.8"), netip.MustParseAddr("2606:4700::1%eth0")} {
		if egress.Special(a) == "" {
			t.Errorf("%v is taken for public", a)
		}
	}
}

// TestEveryToolRefusesInternalAddresses calls each tool with an address of each
// range. None may look anything up or connect to anything.
func TestEveryToolRefusesInternalAddresses(t *testing.T) {
	cs := client(t, network.Options{}, noDial(t))
	for _, a := range refusedAddresses {
		for name, arguments := range everyTool(a) {
			if text, isError := call(t, cs, name, arguments); !isError || !strings.Contains(text, "refused: ") {
				t.Errorf("%s %s: %q", name, a, text)
			}
		}
	}
}

// oddHosts are spellings that some resolver, parser or library takes for a host
// on this machine, and other tricks.
var oddHosts = []string{
	"2130706433", "017700000001", "0x7f000001", "0x7f.1", "0x7f.0.0.1", "0X7F.0.0.1", "127.1", "127.0.1", "0", "0.0", "00", "0x0", "0x",
	"0177.0.0.1", "127.0.0.01", "127.0.0.1.", "127.0.0.1..", "127.0.0.256", "1.2.3.4.5", "256.256.256.256",
	"::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:8.8.8.8", "0:0:0:0:0:ffff:127.0.0.1", "::127.0.0.1",
	"fe80::1%eth0", "::1%lo", "fe80::1%25eth0",
	"１２７.０.０.１", "127。0。0。1", "①②⑦.⓪.⓪.①", "２１３０７０６４３３", "0ｘ7f.1", "ｌｏｃａｌｈｏｓｔ", "ⓛocalhost", "local\u00adhost",
	"localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.LocalHost.",
	"", " ", ".", "-", "-oProxyCommand=x", "--version", "-1.1.1.1", "a.-b.c",
	"example.com@127.0.0.1", "127.0.0.1:80", "example.com/", "example.com?x", "example.com#x", `example.com\x`, "exa mple.com", "example.com\r\nX: y",
	"example.com\x00.evil.com", "http://127.0.0.1", "[::1", "::1]", "[127.0.0.1]x", "%31%32%37.0.0.1", "127.0.0.1%2f", strings.Repeat("a", 64) + ".com",
	strings.Repeat("a.", 200) + "com",
}

func TestEveryToolRefusesOddHosts(t *testing.T) {
	cs := client(t, network.Options{}, noDial(t))
	for _, h := range oddHosts {
		for name, arguments := range everyTool(h) {
			if strings.HasPrefix(name, "http_") && strings.ContainsAny(h, "/?#") {
				continue // in a URL these end the host
			}
			if text, isError := call(t, cs, name, arguments); !isError {
				t.Errorf("%s %q was not refused: %q", name, h, text)
			}
		}
	}
}

// TestNoNameLeadsInside resolves a name to an address of each range, alone and
// behind a public one.
func TestNoNameLeadsInside(t *testing.T) {
	for _, a := range refusedAddresses {
		for _, answer := range [][]netip.Addr{
			{netip.MustParseAddr(a)},
			{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr(a)},
			{netip.AddrFrom16(netip.MustParseAddr(a).As16())}, // how some resolvers give IPv4
		} {
			h := noDial(t)
			h.Lookup = func(context.Context, string) ([]netip.Addr, error) { return answer, nil }
			cs := client(t, network.Options{}, h)
			for name, arguments := range everyTool("inside.example.com") {
				switch name {
				case "whois_lookup", "rdap_lookup": // asks about a name and does not resolve it
					continue
				case "dns_lookup":
					arguments["record_type"] = "A"
				}
				text, isError := call(t, cs, name, arguments)
				if !isError || !strings.Contains(text, "refused: inside.example.com leads to") {
					t.Errorf("%s %v: %q", name, answer, text)
				}
				if strings.Contains(text, a) && len(a) > 4 {
					t.Errorf("%s tells the internal address %s: %q", name, a, text)
				}
			}
		}
	}
}

// TestMappedAnswers holds that IPv4 in the form in which some resolvers give it is
// dialled as what it is.
func TestMappedAnswers(t *testing.T) {
	dialed := ""
	cs := client(t, network.Options{}, network.Hooks{
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("::ffff:93.184.215.14")}, nil
		},
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = address
			return nil, errors.New("reached in this test")
		},
	})
	if text, _ := call(t, cs, "check_port", args{"host": "public.test", "port": 80}); dialed != "93.184.215.14:80" {
		t.Errorf("dialled %q: %s", dialed, text)
	}
}

// TestDialsOnlyWhatWasChecked is DNS rebinding: the first answer is an address
// that may be reached, every later one the canary. 127.0.0.2 stands for the
// public address; it is opened.
func TestDialsOnlyWhatWasChecked(t *testing.T) {
	trap := newCanary(t, "127.0.0.1:0")
	o := network.Options{Allow: []string{"127.0.0.2"}}
	port, err := strconv.Atoi(trap.port())
	if err != nil {
		t.Fatal(err)
	}
	for name, arguments := range map[string]args{
		"http_check": {"url": "http://rebind.test:" + trap.port()}, "http_headers": {"url": "http://rebind.test:" + trap.port()},
		"check_port": {"host": "rebind.test", "port": port, "timeout_sec": 1}, "tls_check": {"host": "rebind.test", "port": port},
	} {
		resolver, asked := nameServer(t, zone{"rebind.test A": {"127.0.0.2", "127.0.0.1"}})
		o.Resolver = resolver
		text, _ := call(t, client(t, o, network.Hooks{}), name, arguments)
		if n := times(asked(), "rebind.test A"); n != 1 {
			t.Errorf("%s asked %d times for the address: %v", name, n, asked())
		}
		if trap.hits.Load() != 0 {
			t.Fatalf("%s reached the canary: %s", name, text)
		}
		// The second answer is refused, should anything ask for it.
		text, isError := call(t, client(t, o, network.Hooks{}), name, arguments)
		if !isError || !strings.Contains(text, "refused: rebind.test leads to") || trap.hits.Load() != 0 {
			t.Errorf("%s: second answer: %q", name, text)
		}
	}
}

func times(list []string, s string) (n int) {
	for _, e := range list {
		if e == s {
			n++
		}
	}
	return n
}

// TestRedirectsAreCheckedAgain sends a client that may reach one server on to
// others that it may not.
func TestRedirectsAreCheckedAgain(t *testing.T) {
	trap := newCanary(t, "127.0.0.1:0")
	var to atomic.Value
	web := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to.Load().(string))
		w.WriteHeader(http.StatusFound)
	}))
	resolver, _ := nameServer(t, zone{"inside.test A": {"127.0.0.1"}})
	cs := client(t, network.Options{Allow: []string{web}, Resolver: resolver}, network.Hooks{})
	for location, want := range map[string]string{
		"http://127.0.0.1:" + trap.port() + "/":                 "refused: 127.0.0.1 is this machine",
		"//127.0.0.1:" + trap.port() + "/":                      "refused: 127.0.0.1 is this machine",
		"http://[::1]:" + trap.port() + "/":                     "refused: ::1 is this machine",
		"http://[::ffff:127.0.0.1]:" + trap.port():              "refused: ::ffff:127.0.0.1 is an IPv4 address",
		"http://localhost:" + trap.port():                       "refused: localhost is this machine",
		"http://inside.test:" + trap.port():                     "refused: inside.test leads to this machine",
		"http://2130706433:" + trap.port():                      "is no host",
		"http://0x7f.1:" + trap.port():                          "is no host",
		"http://１２７.０.０.１:" + trap.port():                       "is no host",
		"http://" + web + "@127.0.0.1:" + trap.port() + "/":     "before @",
		"http://169.254.169.254/latest/meta-data/":              "refused: 169.254.169.254 is a cloud's metadata service",
		"https://127.0.0.1:" + trap.port():                      "refused: 127.0.0.1 is this machine",
		"file:///etc/passwd":                                    "scheme file",
		"gopher://127.0.0.1:" + trap.port() + "/_x":             "scheme gopher",
		"http://" + web + "/again":                              "more than 5 redirects",
		"http://127.0.0.1:" + trap.port() + "/?" + web + "#a@b": "refused: 127.0.0.1",
	} {
		to.Store(location)
		for _, name := range []string{"http_check", "http_headers", "http_timing"} {
			if text, isError := call(t, cs, name, args{"url": "http://" + web + "/"}); !isError || !strings.Contains(text, want) {
				t.Errorf("%s to %s: got %q, want %q", name, location, text, want)
			}
		}
		if trap.hits.Load() != 0 {
			t.Fatalf("%s reached the canary", location)
		}
	}
}

// TestNoProxyFromTheEnvironment would see the canary used as a proxy. The proxy is
// in the environment of a process of its own: the library reads it only once.
func TestNoProxyFromTheEnvironment(t *testing.T) {
	if os.Getenv("NETWORK_TEST_PROXIED") == "" {
		proxy := newCanary(t, "127.0.0.1:0")
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoProxyFromTheEnvironment$")
		cmd.Env = append(os.Environ(), "NETWORK_TEST_PROXIED=1", "NO_PROXY=", "no_proxy=")
		for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"} {
			cmd.Env = append(cmd.Env, name+"=http://"+proxy.Addr().String())
		}
		if out, err := cmd.CombinedOutput(); err != nil || proxy.hits.Load() != 0 {
			t.Errorf("proxy used %d times, %v\n%s", proxy.hits.Load(), err, out)
		}
		return
	}
	web := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the site itself") }))
	_, port, _ := net.SplitHostPort(web)
	resolver, _ := nameServer(t, zone{"site.test A": {"127.0.0.1"}})
	cs := client(t, network.Options{Allow: []string{"site.test"}, Resolver: resolver}, network.Hooks{})
	text, isError := call(t, cs, "http_check", args{"url": "http://site.test:" + port})
	if isError || !strings.Contains(text, "the site itself") {
		t.Error(text)
	}
}

// TestOpenings holds what each form of an entry opens, and what it does not.
func TestOpenings(t *testing.T) {
	for _, tt := range []struct {
		allow  string
		opened []string // host:port
		closed []string
	}{
		{"10.20.0.0/16", []string{"10.20.3.4:80", "10.20.3.4:22"}, []string{"10.21.0.1:80", "127.0.0.1:80", "[::ffff:10.20.3.4]:80"}},
		{"10.20.3.4/8", []string{"10.99.0.1:1"}, []string{"11.0.0.1.:1"}},
		{"10.20.0.0/16:443", []string{"10.20.3.4:443"}, []string{"10.20.3.4:80"}},
		{"127.0.0.1:8080", []string{"127.0.0.1:8080"}, []string{"127.0.0.1:80", "127.0.0.2:8080", "localhost:8080", "inside.test:80"}},
		{"::1", []string{"[::1]:80"}, []string{"[::2]:80", "127.0.0.1:80"}},
		{"[fd00::1]:443", []string{"[fd00::1]:443"}, []string{"[fd00::1]:80", "[fd00::2]:443"}},
		{"[fd00::/8]:443", []string{"[fdaa::1]:443"}, []string{"[fdaa::1]:80"}},
		{"fd00::/8", []string{"[fdaa::1]:80"}, []string{"[fd00:ec2::254]:80"}},
		{"localhost", []string{"localhost:80", "LOCALHOST.:80"}, []string{"127.0.0.1:80", "a.localhost:80"}},
		{"*.localhost", []string{"a.localhost:80"}, []string{"localhost:80"}},
		{"Inside.Test.:5432", []string{"inside.test:5432"}, []string{"inside.test:80", "other.inside.test:5432", "xinside.test:5432"}},
		{"*.test", []string{"inside.test:80"}, []string{"test:80"}},
		{"ｉnside.test", []string{"inside.test:80"}, nil},
		{"169.254.0.0/16", []string{"169.254.1.1:80"}, []string{"169.254.169.254:80"}},
		{"0.0.0.0/0", []string{"10.0.0.1:80", "127.0.0.1:80"}, []string{"169.254.169.254:80", "168.63.129.16:80", "[::1]:80"}},
		{"169.254.169.254", []string{"169.254.169.254:80"}, []string{"169.254.169.253:80"}},
		{"169.254.169.254:80", []string{"169.254.169.254:80"}, []string{"169.254.169.254:81"}},
		{"64:ff9b::/96", []string{"[64:ff9b::808:808]:80"}, []string{"[64:ff9b::7f00:1]:80", "[64:ff9b::a9fe:a9fe]:80"}},
		{"2002::/16", []string{"[2002:808:808::1]:80"}, []string{"[2002:a00:1::1]:80"}},
		{"meta.test", nil, []string{"meta.test:80"}},
	} {
		t.Run(tt.allow, func(t *testing.T) {
			dialed := ""
			cs := client(t, network.Options{Allow: []string{tt.allow}}, network.Hooks{
				Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
					if name == "meta.test" {
						return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
					}
					return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
				},
				Dial: func(_ context.Context, _, address string) (net.Conn, error) {
					dialed = address
					return nil, errors.New("reached in this test")
				},
			})
			for i, hostport := range append(append([]string{}, tt.opened...), tt.closed...) {
				at := strings.LastIndexByte(hostport, ':')
				port, err := strconv.Atoi(hostport[at+1:])
				if err != nil {
					t.Fatal(err)
				}
				dialed = ""
				text, isError := call(t, cs, "check_port", args{"host": strings.Trim(hostport[:at], "[]"), "port": port})
				switch open := i < len(tt.opened); {
				case open && (isError || dialed == ""):
					t.Errorf("%s is not open: %s", hostport, text)
				case !open && (!isError || dialed != ""):
					t.Errorf("%s is open, by %s: %s", hostport, dialed, text)
				}
			}
		})
	}
}

// TestRefusalSaysHowToAllow holds that a refusal helps an operator, and that the
// entry it names does open the host.
func TestRefusalSaysHowToAllow(t *testing.T) {
	text, _ := call(t, client(t, network.Options{}, noDial(t)), "check_port", args{"host": "10.1.2.3", "port": 443})
	if want := `an operator can add "10.1.2.3:443" to the option allow of the server network`; !strings.Contains(text, want) {
		t.Fatalf("got %q, want %q", text, want)
	}
	reached := false
	cs := client(t, network.Options{Allow: []string{"10.1.2.3:443"}}, network.Hooks{Dial: func(context.Context, string, string) (net.Conn, error) {
		reached = true
		return nil, errors.New("reached in this test")
	}})
	if text, _ := call(t, cs, "check_port", args{"host": "10.1.2.3", "port": 443}); !reached {
		t.Errorf("still refused: %s", text)
	}
	text, _ = call(t, client(t, network.Options{}, noDial(t)), "http_check", args{"url": "http://169.254.169.254/"})
	if strings.Contains(text, "operator can add") {
		t.Errorf("a model is told how to have credentials opened: %s", text)
	}
}

// FuzzHTTPNeverReachesInside holds the property that the guard exists for. The
// resolver is as lenient as the worst that is in use: it reads numbers in any
// base as addresses, and leads half of all names to loopback.
func FuzzHTTPNeverReachesInside(f *testing.F) {
	for _, h := range oddHosts {
		f.Add("http://" + h + ":8080/")
		f.Add(h)
	}
	for _, a := range refusedAddresses {
		f.Add("https://[" + a + "]/x?y#z")
		f.Add("http://user:pass@" + a)
	}
	f.Add("http://example.com#@127.0.0.1/")
	f.Add("http:127.0.0.1")
	f.Add("http:/\\127.0.0.1")
	f.Add("//127.0.0.1")
	trap := newCanary(f, "127.0.0.1:0")
	f.Fuzz(func(t *testing.T, u string) {
		_, err := network.HTTPCheck(t.Context(), network.Options{}, network.Hooks{
			Lookup: lenient,
			Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
				at, err := netip.ParseAddrPort(address)
				if err != nil {
					t.Fatalf("%q: what was dialled is no checked address but %q", u, address)
				}
				a := at.Addr().Unmap()
				if a.IsLoopback() || a.IsUnspecified() { // go on, as the system would
					if conn, err := new(net.Dialer).DialContext(ctx, "tcp", trap.Addr().String()); err == nil {
						conn.Close()
					}
				}
				if !a.IsGlobalUnicast() || a.IsPrivate() || a.Zone() != "" || at.Addr().Is4In6() {
					t.Fatalf("%q dialled %s", u, address)
				}
				return nil, errors.New("no connection in this test")
			},
		}, u)
		if err == nil {
			t.Fatalf("%q was answered", u)
		}
		if trap.hits.Load() != 0 {
			t.Fatalf("%q reached the canary", u)
		}
	})
}

// lenient resolves like the C library's inet_aton, and other names by their length.
func lenient(_ context.Context, name string) ([]netip.Addr, error) {
	parts := strings.Split(strings.TrimSuffix(name, "."), ".")
	if len(parts) <= 4 {
		var v uint64
		ok := true
		for i, p := range parts {
			n, err := strconv.ParseUint(p, 0, 32)
			if err != nil {
				ok = false
				break
			}
			if i == len(parts)-1 {
				v |= n
			} else {
				v |= n << (24 - 8*i)
			}
		}
		if ok {
			return []netip.Addr{netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})}, nil
		}
	}
	if len(name)%2 == 0 {
		return []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("::ffff:127.0.0.1")}, nil
	}
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}
