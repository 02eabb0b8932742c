package testenv

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// A Docker is a Docker engine of its own, in namespaces of its own: it touches no
// network, its mounts and containers end with it, and it ends when the process of
// the tests dies. Its containers can have no network but none and host.
type Docker struct {
	Socket string // path of its socket
	TCP    string // host:port, where it wants TLS and knows its clients
	Certs  string // folder with ca.pem, cert.pem and key.pem for that

	dir    string
	group  string
	input  io.Closer
	cmd    *exec.Cmd
	stop   sync.Once
	output *tailBuffer
}

// KeepDocker starts an engine for several tests, which TestMain must stop. The
// test is skipped, or in CI fails, where it cannot run.
func KeepDocker(tb testing.TB) *Docker {
	tb.Helper()
	dockerd, unshare := Program(tb, "dockerd"), Program(tb, "unshare")
	if os.Getuid() != 0 {
		missing(tb, "dockerd runs as root alone")
	}
	dir, err := shortDir()
	if err != nil {
		tb.Fatal(err)
	}
	d := &Docker{
		Socket: filepath.Join(dir, "docker.sock"), Certs: filepath.Join(dir, "client"),
		TCP: net.JoinHostPort("127.0.0.1", strconv.Itoa(Port(tb))),
		dir: dir, group: fmt.Sprintf("tenon-docker-%d", os.Getpid()), output: &tailBuffer{},
	}
	server := filepath.Join(dir, "server")
	writeCertificates(tb, server, d.Certs)
	config := filepath.Join(dir, "daemon.json") // the machine's own is not for us
	if err := os.WriteFile(config, []byte("{}"), 0o600); err != nil {
		tb.Fatal(err)
	}
	d.start(tb, unshare, "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc",
		dockerd, "--config-file", config, "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "pid"), "--cgroup-parent", "/"+d.group, "--exec-opt", "native.cgroupdriver=cgroupfs",
		"--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-masq=false", "--ip-forward=false",
		"-H", "unix://"+d.Socket, "-H", "tcp://"+d.TCP, "--tlsverify", "--tlscacert", filepath.Join(server, "ca.pem"),
		"--tlscert", filepath.Join(server, "cert.pem"), "--tlskey", filepath.Join(server, "key.pem"))
	if err := d.await(tb); err != nil {
		d.Stop()
		missing(tb, fmt.Sprintf("dockerd does not run here: %v\n%s", err, d.output))
	}
	return d
}

// shortDir makes a folder whose path is short enough for a socket, and that outlives
// the test.
func shortDir() (string, error) { return os.MkdirTemp("", "tenon-docker-") }

// start starts the engine behind a shell that kills all of it when its input
// ends, which is when this process does.
func (d *Docker) start(tb testing.TB, args ...string) {
	tb.Helper()
	script := `"$@" </dev/null & server=$!; read -r _; kill -KILL $server; wait $server`
	// It ends with its input: killing the shell would leave the engine.
	d.cmd = exec.CommandContext(context.WithoutCancel(tb.Context()), "sh", append([]string{"-c", script, "sh"}, args...)...)
	d.cmd.Dir = "/"
	d.cmd.Stdout, d.cmd.Stderr = d.output, d.output
	d.cmd.WaitDelay = 10 * time.Second
	input, err := d.cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	d.input = input
	if err := d.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
}

func (d *Docker) await(tb testing.TB) error {
	tb.Helper()
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", d.Socket)
	}}
	defer t.CloseIdleConnections()
	ask := http.Client{Transport: t, Timeout: 10 * time.Second}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); ; <-tick.C {
		req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://engine/_ping", nil)
		if err != nil {
			return err
		}
		res, err := ask.Do(req)
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(res.Status)
		}
		if time.Now().After(end) {
			return err
		}
	}
}

// Stop kills the engine and its containers, waits, and removes what they left.
func (d *Docker) Stop() {
	d.stop.Do(func() {
		_ = d.input.Close()
		_ = d.cmd.Wait() // it was ended by a signal
		for _, pattern := range []string{"/sys/fs/cgroup/*/", "/sys/fs/cgroup/"} {
			groups, _ := filepath.Glob(pattern + d.group) // the pattern is right
			for _, g := range groups {
				inner, _ := os.ReadDir(g) // a group that has gone holds nothing
				for _, i := range inner {
					_ = os.Remove(filepath.Join(g, i.Name())) // files of a group go with it
				}
				_ = os.Remove(g)
			}
		}
		_ = os.RemoveAll(d.dir)
	})
}

// writeCertificates makes an authority and writes its files for a server on
// loopback and for a client.
func writeCertificates(tb testing.TB, server, client string) {
	tb.Helper()
	template := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
	}
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			tb.Fatal(err)
		}
		return k
	}
	authority, authorityKey := template(1, "tenon test authority"), key()
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	sign := func(c *x509.Certificate, k *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, authority, &k.PublicKey, authorityKey)
		if err != nil {
			tb.Fatal(err)
		}
		return der
	}
	ca := sign(authority, authorityKey)
	for i, folder := range []string{server, client} {
		k := key()
		der, err := x509.MarshalECPrivateKey(k)
		if err != nil {
			tb.Fatal(err)
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			tb.Fatal(err)
		}
		for name, block := range map[string]*pem.Block{
			"ca.pem":   {Type: "CERTIFICATE", Bytes: ca},
			"cert.pem": {Type: "CERTIFICATE", Bytes: sign(template(int64(2+i), "localhost"), k)},
			"key.pem":  {Type: "EC PRIVATE KEY", Bytes: der},
		} {
			if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// A tailBuffer keeps the end of what a program prints.
type tailBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - 4096; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
