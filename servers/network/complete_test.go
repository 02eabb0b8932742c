package network_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/tenon-mcp/tenon/servers/network"
)

// TestEncryptedDNS asks over TLS and over HTTPS, by a model's word and by the
// operator's.
func TestEncryptedDNS(t *testing.T) {
	w, _ := world(t)
	handler, asked := serveWorld(t, w)
	ca := newAuthority(t)
	cert := ca.issue(t, "dns.test", time.Now().Add(time.Hour))
	dot := tls.NewListener(listen(t, "127.0.0.1:0"), &tls.Config{Certificates: []tls.Certificate{cert}})
	runDNS(t, &dns.Server{Listener: dot, Handler: handler})
	doh := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		q := new(dns.Msg)
		if err := q.Unpack(b); err != nil || r.URL.Path != "/dns-query" || r.Header.Get("Content-Type") != "application/dns-message" || q.Id != 0 {
			t.Errorf("%v: %s %v", err, r.URL, r.Header)
			return
		}
		rec := &recorder{}
		handler.ServeDNS(rec, q)
		out, _ := rec.m.Pack()
		w.Write(out)
	}))
	doh.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	doh.StartTLS()
	t.Cleanup(doh.Close)
	for _, server := range []string{"tls://" + dot.Addr().String(), strings.Replace(doh.URL, "localhost", "127.0.0.1", 1)} {
		at := server[strings.LastIndex(server, "/")+1:]
		for name, cs := range map[string]struct {
			o  network.Options
			in args
		}{
			"model":    {network.Options{Allow: []string{at}, CAFile: ca.file}, args{"server": server}},
			"operator": {network.Options{Resolver: server, CAFile: ca.file}, args{}},
		} {
			for _, kind := range []string{"A", "DNSKEY"} {
				before := len(asked())
				in := args{"domain": "a.signed.test", "record_type": kind}
				if kind == "DNSKEY" {
					in["domain"] = "signed.test"
				}
				maps.Copy(in, cs.in)
				text, isError := call(t, client(t, cs.o, network.Hooks{Lookup: lookupPublicIf(name == "model")}), "dns_lookup", in)
				if isError || len(asked()) == before || kind == "A" && !strings.Contains(text, "93.184.215.14") || kind == "DNSKEY" && !strings.Contains(text, "257 3 13") {
					t.Errorf("%s %s %s: %s", name, server, kind, text)
				}
			}
		}
		// Who has the wrong certificate is not believed.
		text, isError := call(t, client(t, network.Options{Allow: []string{at}}, network.Hooks{}), "dns_lookup", args{"domain": "a.signed.test", "server": server})
		if !isError || !strings.Contains(text, "certificate") {
			t.Errorf("%s: %s", server, text)
		}
	}
}

// TestNamedServersAreGuarded keeps name servers that a model names to the public
// ones and their ports.
func TestNamedServersAreGuarded(t *testing.T) {
	trap := newCanary(t, "127.0.0.1:0")
	cs := client(t, network.Options{}, noDial(t))
	for server, want := range map[string]string{
		"127.0.0.1": "refused: 127.0.0.1 is this machine", "10.0.0.1:53": "refused: 10.0.0.1", "tls://192.168.0.1": "refused: 192.168.0.1", "https://127.0.0.1:" + trap.port() + "/dns-query": "refused: 127.0.0.1",
		"8.8.8.8:25": "the port 25 is not that of name servers", "ftp://8.8.8.8": "scheme ftp is not offered", "-x": "no host", "https://user:hush@8.8.8.8": "no URL", "2130706433": "no host",
	} {
		text, isError := call(t, cs, "dns_lookup", args{"domain": "a.test", "server": server})
		if !isError || !strings.Contains(text, want) || strings.Contains(text, "hush") || trap.hits.Load() > 0 {
			t.Errorf("%s: %s, want %s", server, text, want)
		}
	}
}

func TestEveryRecordType(t *testing.T) {
	resolver, _ := nameServer(t, zone{
		"x.test A": {"93.184.215.14"}, "x.test HTTPS": {`1 . alpn="h2"`}, "x.test TLSA": {"3 1 1 00ff"}, "x.test SSHFP": {"4 2 00ff"}, "x.test LOC": {"52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m"},
		"x.test NAPTR": {`100 10 "u" "E2U+sip" "" x.test.`}, "x.test DS": {"1 13 2 " + strings.Repeat("00", 32)}, "x.test HINFO": {`"a" "b"`},
	})
	cs := client(t, network.Options{Resolver: resolver}, network.Hooks{})
	for _, kind := range []string{"HTTPS", "tlsa", "SSHFP", "LOC", "NAPTR", "DS", "HINFO", "TYPE65"} {
		text, isError, out := callFull(t, cs, "dns_lookup", args{"domain": "x.test", "record_type": kind})
		if isError || len(out["records"].([]any)) != 1 {
			t.Errorf("%s: %s", kind, text)
		}
	}
	for _, kind := range []string{"ANY", "AXFR", "IXFR", "OPT", "TSIG", "TYPE255", "TYPE0", "TYPE99999", "MAILB", "; rm"} {
		if text, isError := call(t, cs, "dns_lookup", args{"domain": "x.test", "record_type": kind}); !isError {
			t.Errorf("%s: %s", kind, text)
		}
	}
}

func TestHTTPTiming(t *testing.T) {
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/slow", http.StatusFound)
			return
		}
		<-time.After(80 * time.Millisecond)
		fmt.Fprint(w, strings.Repeat("x", 1000))
		w.(http.Flusher).Flush()
		<-time.After(40 * time.Millisecond)
		fmt.Fprint(w, "end")
	}))
	t.Cleanup(web.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pemOf(web.Certificate()), 0o600); err != nil {
		t.Fatal(err)
	}
	at := strings.TrimPrefix(web.URL, "https://")
	for try := 1; ; try++ { // who sees the first byte late on a busy machine measures a short download
		text, isError, out := callFull(t, client(t, network.Options{Allow: []string{at}, CAFile: ca}, network.Hooks{}), "http_timing", args{"url": web.URL + "/"})
		if isError {
			t.Fatal(text)
		}
		hops := out["hops"].([]any)
		last := hops[len(hops)-1].(map[string]any)
		if len(hops) != 2 || last["tls_ms"].(float64) <= 0 || last["total_ms"].(float64) < 110 {
			t.Fatalf("%v", hops)
		}
		if last["first_byte_ms"].(float64) >= 70 && last["download_ms"].(float64) >= 30 {
			mustMatch(t, text, `^## HTTP timing: 200 in `, `^Redirect 1: 302 `, `^Answer: 200 from `+web.URL+`/slow \(`+at+`, 1003 bytes\)$`, `^first byte +\d+\.\d ms +█+$`, `^tls +\d+\.\d ms +█+`)
			break
		}
		if try == 10 {
			t.Fatalf("%v", hops)
		}
	}
	slow := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	if text, isError := call(t, client(t, network.Options{Allow: []string{slow}}, network.Hooks{}), "http_timing", args{"url": slow, "timeout_sec": 1}); !isError || !strings.Contains(text, "no answer within 1s") {
		t.Error(text)
	}
}

func TestRDAP(t *testing.T) {
	var paths atomic.Value
	paths.Store("")
	registry := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths.Store(r.URL.Path)
		switch r.URL.Path {
		case "/rdap/domain/example.com", "/rdap/domain/xn--bcher-kva.com":
			fmt.Fprint(w, `{"objectClassName":"domain","handle":"EXAMPLE.COM","ldhName":"EXAMPLE.COM","status":["client transfer prohibited"],"events":[{"eventAction":"registration","eventDate":"1995-08-14T04:00:00Z"},{"eventAction":"expiration","eventDate":"2031-08-13T04:00:00Z"}],
				"nameservers":[{"ldhName":"A.IANA-SERVERS.NET"}],"secureDNS":{"delegationSigned":true},
				"entities":[{"roles":["registrar"],"vcardArray":["vcard",[["version",{},"text","4.0"],["fn",{},"text","Example\u001b[31m Registrar"]]],"entities":[{"roles":["abuse"],"vcardArray":["vcard",[["fn",{},"text","Abuse"],["email",{},"text","abuse@example.com"]]]}]}]}`)
		case "/rdap/ip/8.8.8.8":
			fmt.Fprint(w, `{"objectClassName":"ip network","name":"NET","startAddress":"8.8.8.0","endAddress":"8.8.8.255","country":"US"}`)
		case "/rdap/autnum/13335":
			fmt.Fprint(w, `{"objectClassName":"autnum","name":"AS","startAutnum":13335,"endAutnum":13335}`)
		case "/rdap/domain/bad.com":
			fmt.Fprint(w, `<html>`)
		case "/rdap/domain/busy.com":
			w.WriteHeader(http.StatusInternalServerError)
		case "/rdap/domain/away.com":
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	var lists atomic.Int32
	iana := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		lists.Add(1)
		fmt.Fprintf(w, `{"services":[[["com","net"],["http://%s/rdap/"]],[["8.0.0.0/8","2001:4860::/32"],["http://%[1]s/rdap/"]],[["13000-14000"],["http://%[1]s/rdap/"]]]}`, registry)
	}))
	cs := client(t, network.Options{Allow: []string{registry}, RDAPServer: "http://" + iana}, network.Hooks{})
	text, isError, out := callFull(t, cs, "rdap_lookup", args{"query": "Example.com."})
	if isError || out["registrar"] != "Example?[31m Registrar" || out["expires"] != "2031-08-13T04:00:00Z" || out["dnssec_signed"] != true {
		t.Errorf("%s %v", text, out)
	}
	mustMatch(t, text, `^- expires: 2031-08-13T04:00:00Z \(in \d+ days\)$`, `^- name servers: a\.iana-servers\.net$`, `^- abuse: Abuse abuse@example\.com$`)
	for query, want := range map[string]string{"8.8.8.8": "- range: 8.8.8.0 - 8.8.8.255", "AS13335": "- range: 13335 - 13335", "bücher.com": "EXAMPLE.COM"} {
		if text, isError := call(t, cs, "rdap_lookup", args{"query": query}); isError || !strings.Contains(text, want) {
			t.Errorf("%s: %s", query, text)
		}
	}
	for query, want := range map[string]string{
		"none.com": "not registered", "bad.com": "is no RDAP", "busy.com": "status 500", "away.com": "refused: 127.0.0.1", "example.unknown": "no registry offers RDAP", "localhost": "no domain", "com": "no domain",
		"10.0.0.1": "refused: 10.0.0.1", "../etc": "no host", "a.com/../../x": "no host", "-x": "no host", "AS99999999999": "",
	} {
		if text, isError := call(t, cs, "rdap_lookup", args{"query": query}); !isError || !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", query, text, want)
		}
	}
	if n := lists.Load(); n > 3 {
		t.Errorf("the lists were read %d times", n)
	}
}

func TestTLSWeakPoints(t *testing.T) {
	ca := newAuthority(t)
	cert := ca.issue(t, "weak.test", time.Now().Add(5*24*time.Hour))
	port := answer(t, func(c net.Conn) {
		tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS12}).HandshakeContext(t.Context())
	})
	cs := client(t, network.Options{Allow: []string{"127.0.0.1"}, CAFile: ca.file}, network.Hooks{})
	text, isError, out := callFull(t, cs, "tls_check", args{"host": "127.0.0.1", "port": port, "server_name": "weak.test"})
	if isError || out["valid"] != true || fmt.Sprint(out["versions"]) != "[TLS 1.0 TLS 1.1 TLS 1.2]" {
		t.Fatalf("%s %v", text, out)
	}
	mustMatch(t, text, `^- accepts: TLS 1\.0, TLS 1\.1, TLS 1\.2$`, `^- weak point: TLS 1\.0 is accepted`, `^- weak point: TLS 1\.3 is not offered$`, `^- weak point: the certificate expires in 4 days$`)
	good := serveTLS(t, ca.issue(t, "good.test", time.Now().Add(100*24*time.Hour)))
	if text, _, out := callFull(t, cs, "tls_check", args{"host": "127.0.0.1", "port": good}); fmt.Sprint(out["versions"]) != "[TLS 1.2 TLS 1.3]" || out["weak_points"] != nil {
		t.Errorf("%s %v", text, out)
	}
	if text, isError := call(t, cs, "tls_check", args{"host": "127.0.0.1", "port": good, "server_name": "-x"}); !isError {
		t.Error(text)
	}
}

// recorder takes the answer of a handler.
type recorder struct {
	dns.ResponseWriter

	m *dns.Msg
}

// WriteMsg implements [dns.ResponseWriter].
func (r *recorder) WriteMsg(m *dns.Msg) error { r.m = m; return nil }

// LocalAddr implements [dns.ResponseWriter].
func (r *recorder) LocalAddr() net.Addr { return &net.TCPAddr{} }

// lookupPublicIf stands for the system's names where it is wanted.
func lookupPublicIf(wanted bool) func(context.Context, string) ([]netip.Addr, error) {
	if !wanted {
		return nil
	}
	return func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
	}
}

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// TestNamedServersLeadNowhereInside holds that what another name server says is
// checked like what this machine's says.
func TestNamedServersLeadNowhereInside(t *testing.T) {
	at, _ := nameServer(t, zone{"inside.test A": {"10.1.2.3"}, "out.test A": {"93.184.215.14"}})
	cs := client(t, network.Options{Allow: []string{at}}, network.Hooks{Lookup: lookupPublicIf(true)})
	text, isError := call(t, cs, "dns_lookup", args{"domain": "inside.test", "server": at})
	if !isError || !strings.Contains(text, "refused: inside.test leads to a private network") || strings.Contains(text, "10.1") {
		t.Error(text)
	}
	if text, isError := call(t, cs, "dns_lookup", args{"domain": "out.test", "server": at}); isError || !strings.Contains(text, "- 93.184.215.14") {
		t.Error(text)
	}
}
