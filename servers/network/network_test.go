package network_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/miekg/dns"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/network"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client of a server.
func client(t *testing.T, o network.Options, h network.Hooks) *mcp.ClientSession {
	t.Helper()
	srv, err := network.NewHooked(o, h)
	if err != nil {
		t.Fatal(err)
	}
	return testenv.Client(t, srv)
}

type args = map[string]any

// call calls a tool and returns the text of its answer. It fails where the
// answer breaks the bound that is declared for the tool.
func call(t *testing.T, cs *mcp.ClientSession, name string, arguments args) (text string, isError bool) {
	t.Helper()
	text, isError, _ = callFull(t, cs, name, arguments)
	return text, isError
}

func callFull(t *testing.T, cs *mcp.ClientSession, name string, arguments args) (text string, isError bool, structured map[string]any) {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	text = res.Content[0].(*mcp.TextContent).Text
	if n, most := utf8.RuneCountInString(text), network.Meta()[name].MaxResultChars; n > most || n == 0 {
		t.Errorf("%s: answer of %d characters; 1 to %d are declared", name, n, most)
	}
	if strings.ContainsAny(text, "\x1b\x00\r") {
		t.Errorf("%s: control characters in the answer: %q", name, text)
	}
	if testing.Verbose() {
		t.Logf("%s %v\n%s", name, arguments, text)
	}
	b, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &structured); err != nil && !res.IsError {
		t.Fatal(err)
	}
	return text, res.IsError, structured
}

func mustMatch(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(`(?m)` + p).MatchString(text) {
			t.Errorf("no match for %s in\n%s", p, text)
		}
	}
}

// listen returns a listener on loopback that the test closes.
func listen(t testing.TB, address string) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// A canary is a listener on loopback that must not be reached.
type canary struct {
	net.Listener

	hits atomic.Int64
}

func newCanary(t testing.TB, address string) *canary {
	t.Helper()
	c := &canary{Listener: listen(t, address)}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := c.Accept()
			if err != nil {
				return
			}
			c.hits.Add(1)
			conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret"))
			conn.Close()
		}
	})
	t.Cleanup(func() { c.Close(); serving.Wait() })
	return c
}

func (c *canary) port() string {
	_, port, _ := net.SplitHostPort(c.Addr().String())
	return port
}

// A zone is what a test's name server knows: "name TYPE" to record data. Several
// entries of a list are given one after the other, the last for ever: data of one
// entry is separated by "|".
type zone map[string][]string

// nameServer runs a real DNS server on loopback and returns its address, and the
// questions that it was asked.
func nameServer(t *testing.T, z zone) (address string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var questions []string
	turn := map[string]int{}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		name := strings.TrimSuffix(strings.ToLower(q.Question[0].Name), ".")
		key := name + " " + dns.TypeToString[q.Question[0].Qtype]
		mu.Lock()
		questions = append(questions, key)
		i := turn[key]
		turn[key]++
		mu.Unlock()
		m := new(dns.Msg)
		m.SetReply(q)
		data, ok := z[key]
		if !ok && !slices.ContainsFunc(keys(z), func(k string) bool { return strings.HasPrefix(k, name+" ") }) {
			m.Rcode = dns.RcodeNameError
		}
		if len(data) > 0 {
			for d := range strings.SplitSeq(data[min(i, len(data)-1)], "|") {
				kind := dns.TypeToString[q.Question[0].Qtype]
				if rest, ok := strings.CutPrefix(d, "CNAME "); ok {
					kind, d = "CNAME", rest
				}
				rr, err := dns.NewRR(fmt.Sprintf("%s 300 IN %s %s", q.Question[0].Name, kind, d))
				if err != nil {
					t.Error(err)
					return
				}
				m.Answer = append(m.Answer, rr)
			}
		}
		if w.LocalAddr().Network() == "udp" {
			m.Truncate(1232)
		}
		w.WriteMsg(m)
	})
	return serveDNS(t, handler), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(questions)
	}
}

// serveDNS runs a name server over UDP and TCP and returns its address.
func serveDNS(t *testing.T, handler dns.Handler) string {
	t.Helper()
	pc, l := samePort(t)
	runDNS(t, &dns.Server{PacketConn: pc, Handler: handler})
	runDNS(t, &dns.Server{Listener: l, Handler: handler})
	return pc.LocalAddr().String()
}

func runDNS(t *testing.T, s *dns.Server) {
	t.Helper()
	var running sync.WaitGroup
	started := make(chan struct{})
	s.NotifyStartedFunc = func() { close(started) }
	running.Go(func() { s.ActivateAndServe() })
	<-started
	t.Cleanup(func() { s.Shutdown(); running.Wait() })
}

// samePort listens on one port of loopback over UDP and TCP, as name servers do.
func samePort(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	var config net.ListenConfig
	for range 50 {
		pc, err := config.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if l, err := config.Listen(t.Context(), "tcp", pc.LocalAddr().String()); err == nil {
			return pc, l
		}
		pc.Close() // another program has the port over TCP
	}
	t.Fatal("no port is free over UDP and TCP")
	return nil, nil
}

func keys(z zone) []string {
	var k []string
	for key := range z {
		k = append(k, key)
	}
	return k
}

// noDial fails the test on any connection.
func noDial(t *testing.T) network.Hooks {
	return network.Hooks{
		Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			t.Errorf("the name %s was looked up", name)
			return nil, errors.New("no look-up in this test")
		},
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			t.Errorf("a connection to %s was made", address)
			return nil, errors.New("no connection in this test")
		},
	}
}

// everyTool calls each tool with a host.
func everyTool(host string) map[string]args {
	bracketed := host
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		bracketed = "[" + host + "]"
	}
	return map[string]args{
		"ping_host":    {"host": host, "count": 1},
		"traceroute":   {"host": host, "max_hops": 1},
		"check_port":   {"host": host, "port": 80},
		"tls_check":    {"host": host},
		"http_check":   {"url": "http://" + bracketed + "/"},
		"http_headers": {"url": "https://" + bracketed + ":8443"},
		"dns_lookup":   {"domain": host, "record_type": "PTR"},
		"whois_lookup": {"query": host},
		"rdap_lookup":  {"query": host},
		"http_timing":  {"url": "http://" + bracketed + ":8080/x"},
	}
}

func TestOptionErrorsNameTheEntry(t *testing.T) {
	for _, tt := range []struct {
		o    network.Options
		want string
	}{
		{network.Options{Allow: []string{"10.0.0.0/8", "10.0.0.0/33"}}, `option allow: "10.0.0.0/33"`},
		{network.Options{Allow: []string{""}}, `option allow: "": it is empty`},
		{network.Options{Allow: []string{"http://x/"}}, `option allow: "http://x/"`},
		{network.Options{Allow: []string{"host:0"}}, `"0" is no port`},
		{network.Options{Allow: []string{"127.1"}}, `option allow: "127.1"`},
		{network.Options{Allow: []string{"*"}}, `option allow: "*"`},
		{network.Options{Allow: []string{"fe80::1%eth0"}}, "zone"},
		{network.Options{Allow: []string{"[::1"}}, "bracket"},
		{network.Options{Resolver: "dns.example.com"}, "option resolver"},
		{network.Options{WhoisServer: "a b"}, "option whois_server"},
		{network.Options{CAFile: "network_test.go"}, "option ca_file: network_test.go holds no PEM"},
		{network.Options{CAFile: "testdata/none"}, "option ca_file"},
	} {
		if _, err := network.New(tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want %q", tt.o, err, tt.want)
		}
	}
}
