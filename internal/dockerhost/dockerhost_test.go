package dockerhost_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/moby/moby/client"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/dockerhost"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A place is a machine as dockerhost sees it: variables and a home folder.
type place struct {
	home string
	env  map[string]string
}

func newPlace(t *testing.T, env map[string]string) *place {
	t.Helper()
	home, err := shortDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	return &place{home, env}
}

// shortDir makes a folder whose path is short enough for a socket, which that of a
// test may not be.
func shortDir() (string, error) { return os.MkdirTemp("", "dh") }

func (p *place) options() dockerhost.Options {
	return dockerhost.Options{Home: p.home, Getenv: func(n string) string { return p.env[n] }, Sockets: []string{}}
}

func (p *place) write(t *testing.T, file, content string) {
	t.Helper()
	path := filepath.Join(p.home, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// context writes a context of the docker command.
func (p *place) context(t *testing.T, name, host string, skip bool) string {
	t.Helper()
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	p.write(t, ".docker/contexts/meta/"+id+"/meta.json", fmt.Sprintf(`{"Name":%q,"Metadata":{},"Endpoints":{"docker":{"Host":%q,"SkipTLSVerify":%v}}}`, name, host, skip))
	return filepath.Join(".docker", "contexts", "tls", id, "docker")
}

// serve answers on a Unix socket.
func serve(t *testing.T, path string, h http.HandlerFunc) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(h)
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	t.Cleanup(srv.Close)
}

func TestWhatNamesTheEngine(t *testing.T) {
	const unix = "unix:///run/here.sock"
	for name, test := range map[string]struct {
		env      map[string]string
		config   string // config.json
		set      func(*dockerhost.Options)
		want     string
		from     string
		contexts map[string]string
	}{
		"option":                   {env: map[string]string{"DOCKER_HOST": "unix:///other"}, set: func(o *dockerhost.Options) { o.Host = unix }, want: unix, from: "the option host"},
		"a path alone":             {set: func(o *dockerhost.Options) { o.Host = "/run/here.sock" }, want: unix},
		"DOCKER_HOST":              {env: map[string]string{"DOCKER_HOST": unix, "DOCKER_CONTEXT": "none"}, config: `{"currentContext":"lab"}`, want: unix, from: "DOCKER_HOST"},
		"DOCKER_CONTEXT":           {env: map[string]string{"DOCKER_CONTEXT": "lab"}, contexts: map[string]string{"lab": unix}, want: unix, from: "context lab, from DOCKER_CONTEXT"},
		"current context":          {config: `{"auths":{},"currentContext":"lab"}`, contexts: map[string]string{"lab": unix}, want: unix, from: "config.json"},
		"option context":           {config: `{"currentContext":"lab"}`, contexts: map[string]string{"lab": "unix:///x", "b-2.x+y": unix}, set: func(o *dockerhost.Options) { o.Context = "b-2.x+y" }, want: unix},
		"Podman's":                 {env: map[string]string{"CONTAINER_HOST": unix}, want: unix, from: "CONTAINER_HOST"},
		"default context":          {config: `{"currentContext":"default"}`, env: map[string]string{"CONTAINER_HOST": unix}, want: unix},
		"no port":                  {set: func(o *dockerhost.Options) { o.Host = "tcp://10.0.0.5" }, want: "tcp://10.0.0.5:2375"},
		"no port with TLS":         {set: func(o *dockerhost.Options) { o.Host, o.TLS = "tcp://[fd00::1]/base/", dockerhost.TLSOn }, want: "tcp://[fd00::1]:2376/base"},
		"https":                    {set: func(o *dockerhost.Options) { o.Host = "https://engine.example" }, want: "tcp://engine.example:2376"},
		"environment is not asked": {env: map[string]string{"DOCKER_TLS_VERIFY": "1"}, set: func(o *dockerhost.Options) { o.Host, o.TLS = "tcp://h", dockerhost.TLSOff }, want: "tcp://h:2375"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, test.env)
			if test.config != "" {
				p.write(t, ".docker/config.json", test.config)
			}
			for n, host := range test.contexts {
				p.context(t, n, host, false)
			}
			o := p.options()
			if test.set != nil {
				test.set(&o)
			}
			h, err := dockerhost.Find(t.Context(), o)
			if err != nil || h.Address != test.want || !strings.Contains(h.From, test.from) {
				t.Errorf("%+v, %v", h, err)
			}
		})
	}
}

func TestWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		env    map[string]string
		config string
		set    func(*dockerhost.Options)
		want   string
	}{
		"ssh":                {env: map[string]string{"DOCKER_HOST": "ssh://u@h"}, want: "ssh -nNT -L"},
		"a user":             {env: map[string]string{"DOCKER_HOST": "tcp://u:not-a-real-key-000@h:1"}, want: "no user or password"},
		"no scheme":          {env: map[string]string{"DOCKER_HOST": "h:1"}, want: "no scheme"},
		"another scheme":     {env: map[string]string{"DOCKER_HOST": "ftp://h"}, want: "must be unix, tcp or npipe"},
		"no host":            {env: map[string]string{"DOCKER_HOST": "tcp://:1"}, want: "no host with a port"},
		"a bad port":         {env: map[string]string{"DOCKER_HOST": "tcp://h:0"}, want: "is no port"},
		"a line break":       {env: map[string]string{"DOCKER_HOST": "tcp://h:1\nx"}, want: "control characters"},
		"a relative socket":  {env: map[string]string{"DOCKER_HOST": "unix://docker.sock"}, want: "must be absolute"},
		"no such context":    {env: map[string]string{"DOCKER_CONTEXT": "gone"}, want: `no context "gone" in `},
		"others are named":   {env: map[string]string{"DOCKER_CONTEXT": "gone"}, want: "there are: lab"},
		"a path for a name":  {env: map[string]string{"DOCKER_CONTEXT": "../../x"}, want: "is no name of a context"},
		"a broken file":      {config: `{"currentContext":`, want: "config.json cannot be read"},
		"a very large file":  {config: strings.Repeat(" ", 2<<20), want: "larger than 1 MiB"},
		"no folder":          {env: map[string]string{"DOCKER_HOST": "tcp://h", "DOCKER_CERT_PATH": "/no/such"}, want: "cert_path"},
		"half a certificate": {env: map[string]string{"DOCKER_HOST": "tcp://h"}, set: func(o *dockerhost.Options) { o.CertPath = filepath.Join(o.Home, "half") }, want: "only one of cert.pem and key.pem"},
		"nothing":            {want: "no container engine was found"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, test.env)
			p.context(t, "lab", "unix:///x", false)
			p.write(t, "half/cert.pem", "x")
			if test.config != "" {
				p.write(t, ".docker/config.json", test.config)
			}
			o := p.options()
			if test.set != nil {
				test.set(&o)
			}
			h, err := dockerhost.Find(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "not-a-real-key") {
				t.Errorf("%+v, %v; want %q", h, err, test.want)
			}
		})
	}
}

func TestFilesOfTLS(t *testing.T) {
	p := newPlace(t, map[string]string{"DOCKER_CERT_PATH": "/not/for/a/context", "DOCKER_TLS_VERIFY": "1"})
	folder := p.context(t, "lab", "tcp://10.0.0.5:2376", true)
	for _, f := range []string{"ca.pem", "cert.pem", "key.pem"} {
		p.write(t, filepath.Join(folder, f), "x")
		p.write(t, ".docker/"+f, "x")
	}
	o := p.options()
	o.Context = "lab"
	h, err := dockerhost.Find(t.Context(), o)
	if err != nil || !h.TLS || !h.Unverified || h.CA != filepath.Join(p.home, folder, "ca.pem") || h.Key == "" {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := h.Client(); err == nil || !strings.Contains(err.Error(), "holds no certificate") {
		t.Errorf("%v", err)
	}
	p.context(t, "open", "tcp://10.0.0.6:2375", false)
	o.Context = "open"
	if h, err = dockerhost.Find(t.Context(), o); err != nil || h.TLS {
		t.Errorf("the environment's certificates are not for a context: %+v, %v", h, err)
	}
	delete(p.env, "DOCKER_CERT_PATH")
	o.Context, o.Host = "", "tcp://10.0.0.5"
	h, err = dockerhost.Find(t.Context(), o) // where the docker command has them
	if err != nil || !h.TLS || h.Unverified || h.Cert != filepath.Join(p.home, ".docker", "cert.pem") {
		t.Errorf("%+v, %v", h, err)
	}
	p.env["DOCKER_TLS_VERIFY"] = ""
	p.env["DOCKER_CERT_PATH"] = filepath.Join(p.home, ".docker")
	if h, err = dockerhost.Find(t.Context(), o); err != nil || !h.TLS || h.Unverified {
		t.Errorf("a folder alone must not switch the check off: %+v, %v", h, err)
	}
}

// TestUsualPlaces has sockets of several engines, where they make them.
func TestUsualPlaces(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("sockets of Unix")
	}
	p := newPlace(t, nil)
	p.env = map[string]string{"XDG_RUNTIME_DIR": filepath.Join(p.home, "run")}
	o := p.options()
	o.Sockets = nil
	if _, err := os.Stat("/var/run/docker.sock"); err == nil {
		t.Skip("this machine has an engine of its own")
	}
	_, err := dockerhost.Find(t.Context(), o)
	if !errors.Is(err, dockerhost.ErrUnreachable) {
		t.Fatal(err)
	}
	for _, want := range []string{"unix:///var/run/docker.sock (not there)", "run/podman/podman.sock", ".docker/run/docker.sock", "podman.socket", "DOCKER_HOST"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	for _, path := range []string{"run/podman/podman.sock", ".colima/default/docker.sock", "run/docker.sock"} { // each before the last
		serve(t, filepath.Join(p.home, path), func(http.ResponseWriter, *http.Request) {})
		h, err := dockerhost.Find(t.Context(), o)
		if err != nil || h.Address != "unix://"+filepath.Join(p.home, path) {
			t.Errorf("%s: %+v, %v", path, h, err)
		}
	}
}

// TestDeadSocketIsPassed has a socket that nobody listens on before one that works.
func TestDeadSocketIsPassed(t *testing.T) {
	p := newPlace(t, nil)
	dead, live := filepath.Join(p.home, "dead.sock"), filepath.Join(p.home, "live.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	o := p.options()
	o.Sockets = []string{"unix://" + dead}
	if _, err := dockerhost.Find(t.Context(), o); err == nil || !strings.Contains(err.Error(), "dead.sock (nothing listens there)") {
		t.Error(err)
	}
	serve(t, live, func(http.ResponseWriter, *http.Request) {})
	o.Sockets = append(o.Sockets, "unix://"+live)
	if h, err := dockerhost.Find(t.Context(), o); err != nil || h.Address != "unix://"+live {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestPermissionDenied(t *testing.T) {
	p := newPlace(t, nil)
	path := filepath.Join(p.home, "closed.sock")
	serve(t, path, func(http.ResponseWriter, *http.Request) {})
	err := dockerhost.Closed("unix://"+path, &net.OpError{Op: "dial", Err: fs.ErrPermission})
	if !errors.Is(err, dockerhost.ErrUnreachable) || !errors.Is(err, fs.ErrPermission) {
		t.Fatal(err)
	}
	want := "as good as root"
	if runtime.GOOS == "windows" {
		want = "docker-users"
	}
	if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "permission denied at unix://"+path) {
		t.Error(err)
	}
	if os.Getuid() <= 0 {
		return // root is denied nothing
	}
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	o := p.options()
	o.Sockets = []string{"unix://" + path}
	if _, err := dockerhost.Find(t.Context(), o); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}

func TestExplain(t *testing.T) {
	p := newPlace(t, nil)
	path := filepath.Join(p.home, "s")
	serve(t, path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.41")
	})
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(secure.Close)
	tcp := func(url string) string { _, rest, _ := strings.Cut(url, "://"); return "tcp://" + rest }
	for name, test := range map[string]struct {
		host dockerhost.Host
		want string
	}{
		"not there":         {dockerhost.Host{Address: "unix://" + path + "x", From: "DOCKER_HOST"}, "(DOCKER_HOST): not there"},
		"nothing listens":   {dockerhost.Host{Address: "tcp://127.0.0.1:1"}, "nothing listens there"},
		"TLS where none is": {dockerhost.Host{Address: tcp(plain.URL), TLS: true}, "speaks no TLS"},
		"none where TLS is": {dockerhost.Host{Address: tcp(secure.URL)}, "wants TLS"},
		"unknown authority": {dockerhost.Host{Address: tcp(secure.URL), TLS: true}, "ca.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := test.host.Client()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err = c.Ping(t.Context(), client.PingOptions{NegotiateAPIVersion: true})
			if err = test.host.Explain(t.Context(), err); !errors.Is(err, dockerhost.ErrUnreachable) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
	h := dockerhost.Host{Address: "unix://" + path}
	other := errors.New("another error")
	if got := h.Explain(t.Context(), other); !errors.Is(got, other) || got.Error() != other.Error() {
		t.Error(got)
	}
	if h.Explain(t.Context(), nil) != nil {
		t.Error("an error of none")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dockerhost.Find(ctx, dockerhost.Options{Sockets: []string{"unix://" + path}, Home: p.home, Getenv: func(string) string { return "" }}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzAddress holds that an address that is taken names one host or one path.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"unix:///x", "tcp://h:1/a", "tcp://[::1]:2", "https://h", "/x", "ssh://h", "tcp://a@b", "npipe:////./pipe/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o := dockerhost.Options{Host: s, Home: "/none", Getenv: func(string) string { return "" }, Sockets: []string{}}
		h, err := dockerhost.Find(t.Context(), o)
		if err != nil || s == "" {
			return
		}
		if strings.ContainsAny(h.Address, " \n\r\t\x00@") && strings.HasPrefix(h.Address, "tcp") {
			t.Errorf("%q was taken as %q", s, h.Address)
		}
		c, err := h.Client()
		if err != nil {
			t.Fatalf("%q was taken as %q, of which no client can be made: %v", s, h.Address, err)
		}
		_ = c.Close()
	})
}
