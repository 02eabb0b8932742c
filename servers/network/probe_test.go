package network_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/servers/network"
)

// silent is a network on which nobody answers.
func silent() network.Hooks {
	return network.Hooks{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
}

func TestPing(t *testing.T) {
	text, isError := call(t, client(t, network.Options{Allow: []string{"127.0.0.1"}}, network.Hooks{}), "ping_host", args{"host": "127.0.0.1", "count": -3})
	if isError {
		if strings.Contains(text, "may not send ICMP packets") && strings.Contains(text, "check_port") {
			t.Skip("this user may not ping: ", text)
		}
		t.Fatal(text)
	}
	mustMatch(t, text, `^## Ping 127\.0\.0\.1 \(127\.0\.0\.1\)$`, `^reply from 127\.0\.0\.1: seq=1 ttl=\d+ time=\d+\.\d ms$`,
		`^1 sent, 1 received, 0 % lost$`, `^round trip min/avg/max = `)
}

func TestTraceroute(t *testing.T) {
	text, isError := call(t, client(t, network.Options{Allow: []string{"127.0.0.0/8"}}, network.Hooks{}), "traceroute", args{"host": "127.0.0.1"})
	if isError {
		if strings.Contains(text, "may not send ICMP packets") {
			t.Skip("this user may not trace: ", text)
		}
		t.Fatal(text)
	}
	mustMatch(t, text, `^ 1  127\.0\.0\.1  \d+\.\d ms  reached$`, `^Reached after 1 hops\.$`)
}

func TestQuoted(t *testing.T) {
	v4 := append([]byte{0x46}, make([]byte, 23)...) // a header of six words
	echo := []byte{8, 0, 0, 0, 0x12, 0x34, 0, 7}
	if id, seq, ok := network.Quoted(append(v4, echo...), false); !ok || id != 0x1234 || seq != 7 {
		t.Errorf("IPv4: %x %d %v", id, seq, ok)
	}
	if id, seq, ok := network.Quoted(append(make([]byte, 40), echo...), true); !ok || id != 0x1234 || seq != 7 {
		t.Errorf("IPv6: %x %d %v", id, seq, ok)
	}
	for n := range 32 {
		if _, _, ok := network.Quoted(append(v4, echo...)[:n], false); ok {
			t.Errorf("%d bytes were enough", n)
		}
	}
}

// authority issues certificates for the tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // PEM
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test Authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{cert, key, filepath.Join(t.TempDir(), "ca.pem")}
	if err := os.WriteFile(a.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// issue returns a certificate for a name that ends at a time.
func (a *authority) issue(t *testing.T, name string, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name + "\x1b[31m"}, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-1000 * time.Hour), NotAfter: until,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key}
}

// answer runs a server on loopback that handles each connection with f.
func answer(t *testing.T, f func(net.Conn)) int {
	t.Helper()
	l := listen(t, "127.0.0.1:0")
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f(conn)
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return l.Addr().(*net.TCPAddr).Port
}

func serveTLS(t *testing.T, cert tls.Certificate) int {
	t.Helper()
	return answer(t, func(c net.Conn) {
		tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}}).HandshakeContext(t.Context())
	})
}

func TestTLSCheck(t *testing.T) {
	ca := newAuthority(t)
	good := serveTLS(t, ca.issue(t, "good.test", time.Now().Add(100*24*time.Hour)))
	expired := serveTLS(t, ca.issue(t, "good.test", time.Now().Add(-48*time.Hour)))
	lookup := func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	for _, tt := range []struct {
		name, host string
		port       int
		ca         string
		valid      bool
		want       []string
	}{
		{"valid", "good.test", good, ca.file, true, []string{
			`^- certificate: valid$`, `in 99 days$`, `^- issuer: CN=Test Authority$`, `^- names: good\.test, 127\.0\.0\.1$`,
			`^- key: ECDSA P-256`, `^- connection: TLS 1\.3, TLS_`, `^1\. CN=good\.test`, `^2\. CN=Test Authority`,
		}},
		{"valid address", "127.0.0.1", good, ca.file, true, []string{`^- certificate: valid$`}},
		{"unknown issuer", "good.test", good, "", false, []string{`^- certificate: NOT VALID: its issuer is not trusted`}},
		{"expired", "good.test", expired, ca.file, false, []string{`^- certificate: NOT VALID: it has expired$`, `, 2 days ago$`}},
		{"other host", "other.test", good, ca.file, false, []string{`^- certificate: NOT VALID: it is not for other\.test$`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cs := client(t, network.Options{Allow: []string{"*.test", "127.0.0.1"}, CAFile: tt.ca}, network.Hooks{Lookup: lookup})
			text, isError, out := callFull(t, cs, "tls_check", args{"host": tt.host, "port": tt.port})
			if isError || out["valid"] != tt.valid {
				t.Fatalf("valid = %v: %s", out["valid"], text)
			}
			mustMatch(t, text, tt.want...)
		})
	}
}

func TestTLSCheckOfNoTLS(t *testing.T) {
	port := answer(t, func(c net.Conn) { fmt.Fprint(c, "220 mail ready\r\n") })
	text, isError := call(t, client(t, network.Options{Allow: []string{"127.0.0.1"}}, network.Hooks{}), "tls_check", args{"host": "127.0.0.1", "port": port})
	if !isError || !strings.Contains(text, "does not speak TLS") {
		t.Errorf("got %q", text)
	}
}

// whoisServer answers queries on loopback, and remembers them.
func whoisServer(t *testing.T, reply func(query string) string) (at string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var queries []string
	port := answer(t, func(c net.Conn) {
		q, _ := bufio.NewReader(c).ReadString('\n')
		mu.Lock()
		queries = append(queries, q)
		mu.Unlock()
		fmt.Fprint(c, reply(strings.TrimSpace(q)))
	})
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return queries
	}
}

func TestWhoisFollowsReferrals(t *testing.T) {
	fourth, askedFourth := whoisServer(t, func(string) string { return "too far\r\n" })
	third, askedThird := whoisServer(t, func(string) string {
		return "Registrar: Example Inc.\r\nRegistry Expiry Date: 2031-01-01\r\nWHOIS Server: " + fourth + "\r\n"
	})
	second, _ := whoisServer(t, func(q string) string {
		return "Domain Name: " + strings.ToUpper(q) + "\r\n   Registrar WHOIS Server: " + third + "\r\n"
	})
	first, asked := whoisServer(t, func(string) string { return "% IANA WHOIS server\r\n\r\nrefer:        " + second + "\r\n\r\n" })
	cs := client(t, network.Options{Allow: []string{first, second, third, fourth}, WhoisServer: first}, network.Hooks{})
	text, isError := call(t, cs, "whois_lookup", args{"query": " Bücher.example. "})
	if isError {
		t.Fatal(text)
	}
	mustMatch(t, text, `^## Whois xn--bcher-kva\.example$`, `^Asked: `+first+`, then `+second+`, then `+third+`$`, `^Registrar: Example Inc\.$`)
	if q := asked(); len(q) != 1 || q[0] != "xn--bcher-kva.example\r\n" {
		t.Errorf("asked %q", q)
	}
	if len(askedThird()) != 1 || len(askedFourth()) != 0 {
		t.Error("referrals were not followed twice")
	}
}

func TestWhoisReferralIsCheckedAgain(t *testing.T) {
	trap := newCanary(t, "127.0.0.1:0")
	for _, referral := range []string{
		trap.Addr().String(), "localhost:" + trap.port(), "127.0.0.1", "localhost", "whois://127.0.0.1:" + trap.port(),
		"public.test:" + trap.port(), "2130706433", "-x",
	} {
		first, _ := whoisServer(t, func(string) string { return "netname: TEST\r\nReferralServer: " + referral + "\r\n" })
		cs := client(t, network.Options{Allow: []string{first}, WhoisServer: first}, network.Hooks{})
		text, isError := call(t, cs, "whois_lookup", args{"query": "8.8.8.8"})
		if isError || !strings.Contains(text, "netname: TEST") || trap.hits.Load() != 0 {
			t.Errorf("%s: canary reached %d times: %s", referral, trap.hits.Load(), text)
		}
	}
}

// TestWhoisReferralKeepsToItsPort holds that an answer cannot turn the tool into a
// scanner of public hosts.
func TestWhoisReferralKeepsToItsPort(t *testing.T) {
	for referral, want := range map[string]string{"93.184.215.14": "93.184.215.14:43", "93.184.215.14:43": "93.184.215.14:43", "93.184.215.14:8080": ""} {
		dialed := ""
		first, _ := whoisServer(t, func(string) string { return "netname: TEST\r\nrefer: " + referral + "\r\n" })
		cs := client(t, network.Options{Allow: []string{first}, WhoisServer: first}, network.Hooks{
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				if address == first {
					return new(net.Dialer).DialContext(ctx, network, address)
				}
				dialed = address
				return nil, errors.New("reached in this test")
			},
		})
		if text, isError := call(t, cs, "whois_lookup", args{"query": "8.8.8.8"}); isError || dialed != want {
			t.Errorf("%s: dialled %q, want %q: %s", referral, dialed, want, text)
		}
	}
}

func TestWhoisIsBounded(t *testing.T) {
	flood, _ := whoisServer(t, func(string) string { return strings.Repeat("name: \x1b[2J\xff\xfe line\r\n", 100_000) })
	text, isError := call(t, client(t, network.Options{Allow: []string{flood}, WhoisServer: flood}, network.Hooks{}), "whois_lookup", args{"query": "AS13335"})
	if isError || !strings.Contains(text, "left out") {
		t.Errorf("got %d characters: %.200s", len(text), text)
	}
}

func TestWhoisRefusesWhatIsNoQuery(t *testing.T) {
	cs := client(t, network.Options{}, noDial(t))
	for _, q := range []string{"-T any example.com", "example.com\r\nother", "a b", "", "10.0.0.1", "AS1 x"} {
		if text, isError := call(t, cs, "whois_lookup", args{"query": q}); !isError {
			t.Errorf("%q: %s", q, text)
		}
	}
}
