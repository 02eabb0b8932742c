package kube_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/servers/kubernetes/kube"
)

// TestMain is the plugin as well: a program that prints credentials.
func TestMain(m *testing.M) {
	if token := os.Getenv("KUBE_TEST_PLUGIN"); token != "" {
		var info struct{ Kind string }
		if json.Unmarshal([]byte(os.Getenv("KUBERNETES_EXEC_INFO")), &info) != nil || info.Kind != "ExecCredential" || os.Args[1] != "--get" {
			os.Exit(3)
		}
		if token == "fail" {
			fmt.Fprintln(os.Stderr, "not-a-real-key-000")
			os.Exit(1)
		}
		fmt.Printf(`{"kind":"ExecCredential","status":{"token":%q,"expirationTimestamp":%q}}`, token, time.Now().Add(time.Hour).Format(time.RFC3339))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// server answers with what it was sent.
func server(t *testing.T, seen *http.Header) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = r.Header.Clone()
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			seen.Set("Peer", r.TLS.PeerCertificates[0].Subject.CommonName)
		}
		_, _ = io.WriteString(w, `{"echo": "`+r.Header.Get("Authorization")+`"}`)
	}))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(srv.Close)
	return srv
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func file(t *testing.T, url, cluster, user string) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), "config"), fmt.Sprintf(`
current-context: here
contexts: [{name: here, context: {cluster: c, user: u, namespace: shop}}, {name: there, context: {cluster: gone, user: u}}]
clusters: [{name: c, cluster: {server: %q%s}}]
users: [{name: u, user: {%s}}]
`, url, cluster, user))
}

func none(string) string { return "" }

func TestUsers(t *testing.T) {
	var seen http.Header
	srv := server(t, &seen)
	srv.Start()
	dir := t.TempDir()
	token := write(t, filepath.Join(dir, "token"), "not-a-real-key-001\n")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plugin := fmt.Sprintf(`exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, args: [--get], env: [{name: KUBE_TEST_PLUGIN, value: %%s}]}`, program)
	for name, c := range map[string]struct{ user, header, want string }{
		"nobody":      {"", "Authorization", ""},
		"token":       {"token: not-a-real-key-000", "Authorization", "Bearer not-a-real-key-000"},
		"token file":  {fmt.Sprintf("token: x, tokenFile: %q", token), "Authorization", "Bearer not-a-real-key-001"},
		"password":    {"username: u, password: not-a-real-key-000", "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("u:not-a-real-key-000"))},
		"impersonate": {"token: not-a-real-key-000, as: jane, as-groups: [a, b]", "Impersonate-User", "jane"},
		"plugin":      {fmt.Sprintf(plugin, "not-a-real-key-002"), "Authorization", "Bearer not-a-real-key-002"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := kube.Load(kube.Options{Files: file(t, srv.URL, "", c.user), AllowExec: true, Getenv: none})
			if err != nil {
				t.Fatal(err)
			}
			var out struct{ Echo string }
			if err := client.Get(t.Context(), "/api", nil, &out); err != nil {
				t.Fatal(err)
			}
			if seen.Get(c.header) != c.want || client.Namespace != "shop" {
				t.Errorf("%q, want %q", seen.Get(c.header), c.want)
			}
			if strings.Contains(out.Echo, "not-a-real") || strings.Contains(out.Echo, base64.StdEncoding.EncodeToString([]byte("u:not"))[:6]) {
				t.Errorf("the answer shows %s", out.Echo)
			}
		})
	}
	client, err := kube.Load(kube.Options{Files: file(t, srv.URL, "", fmt.Sprintf(plugin, "fail")), AllowExec: true, Getenv: none})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Get(t.Context(), "/api", nil, nil); err == nil || strings.Contains(err.Error(), "not-a-real") || !strings.Contains(err.Error(), "gives the credentials, failed") {
		t.Errorf("%v", err)
	}
	if _, err := kube.Load(kube.Options{Files: file(t, srv.URL, "", fmt.Sprintf(plugin, "x")), Getenv: none}); err == nil || !strings.Contains(err.Error(), "allow_exec") {
		t.Errorf("a program that is not allowed: %v", err)
	}
}

// TestTokenFileIsReadAnew changes the token between two requests.
func TestTokenFileIsReadAnew(t *testing.T) {
	var seen http.Header
	srv := server(t, &seen)
	srv.Start()
	path := file(t, srv.URL, "", "tokenFile: token")
	token := write(t, filepath.Join(filepath.Dir(path), "token"), "not-a-real-key-001")
	client, err := kube.Load(kube.Options{Files: path, Getenv: none})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"not-a-real-key-001", "not-a-real-key-002"} {
		write(t, token, want)
		if err := client.Get(t.Context(), "/api", nil, &struct{}{}); err != nil || seen.Get("Authorization") != "Bearer "+want {
			t.Errorf("%v, %s", err, seen.Get("Authorization"))
		}
	}
}

func TestSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	one := write(t, filepath.Join(dir, "one"), "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'http://one.example'}}]\n")
	two := write(t, filepath.Join(dir, "two"), "current-context: b\ncontexts: [{name: a, context: {cluster: x}}, {name: b, context: {cluster: c, user: u, namespace: n}}]\nclusters: [{name: c, cluster: {server: 'http://two.example'}}]\nusers: [{name: u, user: {}}]\n")
	list := strings.Join([]string{filepath.Join(dir, "missing"), one, two}, string(os.PathListSeparator))
	env := func(name string) string { return map[string]string{"KUBECONFIG": list}[name] }
	client, err := kube.Load(kube.Options{Getenv: env})
	if err != nil || client.Context != "a" || client.Server() != "http://one.example" {
		t.Fatalf("%+v, %v", client, err)
	}
	client, err = kube.Load(kube.Options{Getenv: env, Context: "b"})
	if err != nil || client.Namespace != "n" || client.Server() != "http://one.example" {
		t.Fatalf("%+v, %v", client, err)
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	for want, path := range map[string]string{
		"no such file":                 filepath.Join(dir, "none"),
		"not of the form":              write(t, filepath.Join(dir, "a"), "users: not-a-real-key-000"),
		"no current-context":           write(t, filepath.Join(dir, "b"), "{}"),
		`no context "x"`:               write(t, filepath.Join(dir, "c"), "current-context: x"),
		"names the cluster":            write(t, filepath.Join(dir, "d"), "current-context: x\ncontexts: [{name: x, context: {cluster: y}}]"),
		"names the user":               write(t, filepath.Join(dir, "e"), "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: y}}]\nclusters: [{name: c}]"),
		"no address":                   file(t, "ftp://x", "", ""),
		"no address such":              file(t, "https://u:not-a-real-key-000@x", "", ""),
		"not base64":                   file(t, "https://x", ", certificate-authority-data: '*'", ""),
		"no PEM certificate":           file(t, "https://x", ", certificate-authority-data: aGFsbG8=", ""),
		"client-certificate and":       file(t, "https://x", "", "client-certificate-data: aGFsbG8="),
		"client-key:":                  file(t, "https://x", "", "client-key: nowhere"),
		"proxy-url":                    file(t, "https://x", ", proxy-url: 'no proxy'", ""),
		"several lines":                file(t, "https://x", "", `token: "a\nb"`),
		"which Kubernetes no longer k": file(t, "https://x", "", "auth-provider: {name: gcp}"),
	} {
		_, err := kube.Load(kube.Options{Files: path, Getenv: none})
		if err == nil || !strings.Contains(err.Error(), want) && want != "no such file" || strings.Contains(err.Error(), "not-a-real") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := kube.Load(kube.Options{Getenv: none}); err != kube.ErrNone { //nolint:errorlint // it is this one
		t.Errorf("%v", err)
	}
}

// TestInCluster has an API server with a certificate of its own, as a pod sees it.
func TestInCluster(t *testing.T) {
	var seen http.Header
	srv := server(t, &seen)
	cert, key := certificate(t)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: pool, MinVersion: tls.VersionTLS12}
	srv.StartTLS()
	at, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ca.crt"), string(cert))
	write(t, filepath.Join(dir, "token"), "not-a-real-key-000")
	write(t, filepath.Join(dir, "namespace"), "shop\n")
	env := func(name string) string {
		return map[string]string{"KUBERNETES_SERVICE_HOST": at.Hostname(), "KUBERNETES_SERVICE_PORT": at.Port()}[name]
	}
	client, err := kube.Load(kube.Options{Getenv: env, ServiceDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Get(t.Context(), "/api", nil, &struct{}{}); err != nil || seen.Get("Authorization") != "Bearer not-a-real-key-000" || client.Namespace != "shop" {
		t.Errorf("%v, %v, %s", err, seen, client.Namespace)
	}
	// The same server by a file, with a certificate of the client.
	ca, private := base64.StdEncoding.EncodeToString(cert), base64.StdEncoding.EncodeToString(key)
	path := file(t, srv.URL, ", certificate-authority-data: "+ca, "client-certificate-data: "+ca+", client-key-data: "+private)
	if client, err = kube.Load(kube.Options{Files: path, Getenv: none}); err != nil {
		t.Fatal(err)
	}
	if err := client.Get(t.Context(), "/api", nil, &struct{}{}); err != nil || seen.Get("Peer") != "test" {
		t.Errorf("%v, %v", err, seen)
	}
	if client, err = kube.Load(kube.Options{Files: file(t, srv.URL, "", ""), Getenv: none}); err != nil {
		t.Fatal(err)
	}
	if err := client.Get(t.Context(), "/api", nil, &struct{}{}); err == nil || !strings.Contains(err.Error(), "certificate-authority") {
		t.Errorf("an unknown authority: %v", err)
	}
	if client, err = kube.Load(kube.Options{Files: file(t, srv.URL, ", insecure-skip-tls-verify: true", ""), Getenv: none}); err != nil {
		t.Fatal(err)
	}
	if err := client.Get(t.Context(), "/api", nil, &struct{}{}); err != nil {
		t.Error(err)
	}
}

// TestOldDiscovery has a server that lists its kinds a group at a time, one of
// which is away.
func TestOldDiscovery(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api":
			_, _ = io.WriteString(w, `{"kind":"APIVersions","versions":["v1"]}`)
		case "/api/v1":
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","resources":[{"name":"pods","kind":"Pod","namespaced":true,"shortNames":["po"],"verbs":["list"]},{"name":"pods/log","kind":"Pod"}]}`)
		case "/apis":
			_, _ = io.WriteString(w, `{"kind":"APIGroupList","groups":[{"name":"gone.example","preferredVersion":{"groupVersion":"gone.example/v1"}},{"name":"apps","preferredVersion":{"groupVersion":"apps/v1"}}]}`)
		case "/apis/apps/v1":
			_, _ = io.WriteString(w, `{"resources":[{"name":"deployments","singularName":"deployment","kind":"Deployment","namespaced":true,"shortNames":["deploy"],"verbs":["list"]}]}`)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(srv.Close)
	client, err := kube.Load(kube.Options{Files: file(t, srv.URL, "", ""), Getenv: none})
	if err != nil {
		t.Fatal(err)
	}
	for word, path := range map[string]string{"PODS": "/api/v1/namespaces/n/pods/x", "pod": "/api/v1/namespaces/n/pods/x", "deploy": "/apis/apps/v1/namespaces/n/deployments/x", "Deployment.apps": "/apis/apps/v1/namespaces/n/deployments/x"} {
		r, err := client.Find(t.Context(), word)
		if err != nil || r.Path("n", "x") != path {
			t.Errorf("%s: %v, %v", word, r, err)
		}
	}
	for _, word := range []string{"", "deploy.batch", "pods/log", "gadget"} {
		if r, err := client.Find(t.Context(), word); err == nil {
			t.Errorf("%s: %v", word, r)
		}
	}
}

// certificate makes one for 127.0.0.1, of a server and a client at once.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}
