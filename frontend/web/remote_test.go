package web_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/frontend/web"
)

// remote serves on all addresses of this machine, as only a server may whose
// handler asks everybody for a credential. The handler of the test asks nobody: it
// has nothing to give.
func remote(t *testing.T) *web.Server {
	t.Helper()
	s, _ := serve(t, web.Options{Addr: "0.0.0.0:0", Handler: http.HandlerFunc(answer), Authenticated: true})
	return s
}

func TestListenBeyondLoopback(t *testing.T) {
	if s := remote(t); s.Loopback() {
		t.Error("says it is on loopback")
	}
	if s, _ := serve(t, web.Options{Addr: "127.0.0.1:0", Handler: http.HandlerFunc(answer), Authenticated: true}); !s.Loopback() {
		t.Error("says it is not on loopback")
	}
}

// TestHostBeyondLoopback: a server on all addresses is named by the one that the
// connection came to, or as it is allowed to be; never by a name of a stranger.
func TestHostBeyondLoopback(t *testing.T) {
	s := remote(t)
	_, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	c := client(t)
	addr := "127.0.0.1:" + port
	for host, want := range map[string]int{
		addr: 200, "localhost:" + port: 200,
		"192.0.2.7:" + port: 403, "rebound.example.com:" + port: 403, "127.0.0.1.example.com:" + port: 403,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("host %s: %d, want %d", host, res.StatusCode, want)
		}
	}
	// An address of this machine's own beside loopback, where it has one.
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.IsLoopback() || n.IP.To4() == nil {
			continue
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort(n.IP.String(), port)+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("host %s: %d", n.IP, res.StatusCode)
		}
		return
	}
}

// TestCredentialsArriveAsSent: whoever looks at the credential of a request sees
// each that was sent. A server that shows one of two would let the other through
// unseen.
func TestCredentialsArriveAsSent(t *testing.T) {
	s, _ := serve(t, web.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Join(r.Header["Authorization"], "|")+"|from "+r.RemoteAddr)
	})})
	for _, c := range []struct{ name, lines, want string }{
		{"one", "Authorization: Bearer a\r\n", "Bearer a|from 127.0.0.1:"},
		{"two", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n", "Bearer a|Bearer b|from "},
		{"two in other letters", "authorization: Bearer a\r\nAUTHORIZATION: Bearer b\r\n", "Bearer a|Bearer b|from "},
		{"two with others between", "Authorization: Bearer a\r\nX-A: b\r\nauthorization: Bearer b\r\n", "Bearer a|Bearer b|from "},
		{"an empty one", "Authorization:\r\nAuthorization: Bearer b\r\n", "|Bearer b|from "},
		{"a blank before the colon", "Authorization : Bearer a\r\n", "400 Bad Request"},
		{"a folded line", "Authorization: Bearer a\r\n b\r\n", ""},
		{"a name with a blank", "X Authorization: Bearer a\r\n", "400 Bad Request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+s.Addr()+"\r\n"+c.lines+"Connection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(answer), c.want) || c.want == "" && strings.Contains(string(answer), "Bearer a|") {
				t.Errorf("got %s, want %s", answer, c.want)
			}
		})
	}
}

// certify writes a certificate for 127.0.0.1 with its key, and returns it.
func certify(t *testing.T, dir string, serial int64) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	return cert, key, pool
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key, pool := certify(t, dir, 1)
	s, _ := serve(t, web.Options{Addr: "127.0.0.1:0", Handler: http.HandlerFunc(answer), Cert: cert, Key: key})
	if !strings.HasPrefix(s.URL(), "https://127.0.0.1:") {
		t.Fatalf("URL %s", s.URL())
	}
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr}
	for _, path := range []string{"/", "/healthz"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || res.TLS == nil || res.ProtoMajor != 1 {
			t.Errorf("%s: %d over %s", path, res.StatusCode, res.Proto)
		}
	}
	// Who speaks no TLS, or an old one, gets nothing.
	d := tls.Dialer{Config: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}}
	if conn, err := d.DialContext(t.Context(), "tcp", s.Addr()); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
	for _, wrong := range []web.Options{{Cert: cert}, {Key: key}, {Cert: key, Key: cert}, {Cert: cert, Key: filepath.Join(dir, "none")}} {
		wrong.Addr, wrong.Handler = "127.0.0.1:0", http.HandlerFunc(answer)
		if _, err := web.Listen(context.WithoutCancel(t.Context()), wrong); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("with %q and %q: %v", wrong.Cert, wrong.Key, err)
		}
	}
}

// TestCertificateIsReadAgain: a certificate that was renewed is shown within
// seconds; one that is broken leaves the one before in use, and is told of.
func TestCertificateIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		cert, key, _ := certify(t, dir, 1)
		var log bytes.Buffer
		current, err := web.Certificate(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		shows := func(what string, want int64) {
			t.Helper()
			time.Sleep(11 * time.Second)
			got, err := current()
			if err != nil || got.Leaf.SerialNumber.Int64() != want {
				t.Errorf("%s: %v, %v, want %d", what, got.Leaf.SerialNumber, err, want)
			}
		}
		shows("as it was", 1)
		certify(t, dir, 2)
		later := time.Now().AddDate(50, 0, 0) // the clock of files is not that of the bubble
		if err := os.Chtimes(cert, later, later); err != nil {
			t.Fatal(err)
		}
		shows("renewed", 2)
		if err := os.WriteFile(cert, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		shows("broken", 2)
		if !strings.Contains(log.String(), "cannot be read again") {
			t.Errorf("log: %s", &log)
		}
	})
}

// The URL of a server that listens everywhere is one that a client can use.
func TestURLOfAllAddresses(t *testing.T) {
	if s := remote(t); !strings.HasPrefix(s.URL(), "http://127.0.0.1:") {
		t.Errorf("it is reached at %s", s.URL())
	}
}
