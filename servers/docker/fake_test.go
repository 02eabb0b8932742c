package docker_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/servers/docker"
)

// A fake is an engine that does what a real one should not. What it answers when
// it behaves is held to the official description of the API.
type fake struct {
	mu      sync.Mutex
	asked   []string // METHOD path?query
	handle  map[string]http.HandlerFunc
	version string
	hold    chan struct{} // closed when the test is over
}

// newFake starts an engine whose handlers, by the end of the path, come before
// the usual answers.
func newFake(t *testing.T, handle map[string]http.HandlerFunc) (*fake, docker.Options) {
	t.Helper()
	f := &fake{handle: handle, version: "1.41", hold: make(chan struct{})}
	dir, err := shortDir()
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(f)
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	t.Cleanup(func() {
		close(f.hold)
		srv.Close()
		_ = os.RemoveAll(dir)
	})
	return f, docker.Options{Host: "unix://" + socket, AllowRestart: true}
}

// shortDir makes a folder whose path is short enough for a socket.
func shortDir() (string, error) { return os.MkdirTemp("", "fake") }

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r.Method+" "+r.URL.RequestURI())
	f.mu.Unlock()
	w.Header().Set("Api-Version", f.version)
	for end, h := range f.handle {
		if strings.HasSuffix(r.URL.Path, end) {
			h(w, r)
			return
		}
	}
	_, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v"), "/")
	if r.URL.Path == "/_ping" {
		return
	}
	for pattern, body := range answers {
		if ok, _ := filepath.Match(strings.ReplaceAll(strings.TrimPrefix(pattern, "/"), "{id}", "*"), path); ok {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
			return
		}
	}
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	refuse(w, http.StatusNotFound, "page not found")
}

// requests returns what was asked for so far.
func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.asked...)
}

// wait blocks a handler until its client goes away or the test ends.
func (f *fake) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-f.hold:
	}
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
}

const fakeID = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// answers are what the fake says when nothing is wrong, by the path of the
// official description.
var answers = map[string]string{
	"/containers/json": `[{"Id":"` + fakeID + `","Names":["/web","/other/alias"],"Image":"shop:1","ImageID":"sha256:` + fakeID + `","Command":"run","Created":1700000000,
		"Ports":[{"IP":"0.0.0.0","PrivatePort":80,"PublicPort":8080,"Type":"tcp"},{"IP":"::","PrivatePort":80,"PublicPort":8080,"Type":"tcp"},{"PrivatePort":9000,"Type":"udp"},{"IP":"127.0.0.1","PrivatePort":81,"PublicPort":81,"Type":"tcp"}],
		"Labels":{},"State":"running","Status":"Up 2 hours (unhealthy)","HostConfig":{"NetworkMode":"bridge"},"NetworkSettings":{"Networks":{}},"Mounts":[]}]`,
	"/containers/{id}/json": `{"Id":"` + fakeID + `","Created":"2026-01-02T03:04:05.678Z","Path":"/run","Args":["--token","not-a-real-key-000"],"State":{"Status":"running","Running":true,"Paused":false,"Restarting":false,"OOMKilled":true,"Dead":false,"Pid":12,"ExitCode":0,"Error":"","StartedAt":"2026-01-02T03:04:06Z","FinishedAt":"0001-01-01T00:00:00Z"},
		"Image":"sha256:` + fakeID + `","Name":"/web","RestartCount":3,"Driver":"overlay2","HostConfig":{"NetworkMode":"bridge","Privileged":true,"RestartPolicy":{"Name":"always","MaximumRetryCount":0},"LogConfig":{"Type":"json-file","Config":{}}},
		"Mounts":[],"Config":{"Image":"shop:1","Env":["A=not-a-real-key-000"],"Labels":{}},"NetworkSettings":{"Ports":{"80/tcp":[{"HostIp":"0.0.0.0","HostPort":"8080"}],"90/udp":null},"Networks":{"bridge":{"IPAddress":"172.17.0.2","IPPrefixLen":16,"Gateway":"172.17.0.1","Aliases":["web"]}}}}`,
	"/containers/{id}/stats": `{"id":"` + fakeID + `","name":"/web","read":"2026-01-02T03:04:07Z","preread":"2026-01-02T03:04:06Z","cpu_stats":{"cpu_usage":{"total_usage":3000000000},"system_cpu_usage":14000000000,"online_cpus":4,"throttling_data":{"periods":10,"throttled_periods":5,"throttled_time":1}},
		"precpu_stats":{"cpu_usage":{"total_usage":1000000000},"system_cpu_usage":10000000000,"online_cpus":4},"memory_stats":{"usage":3000000,"limit":10000000,"stats":{"inactive_file":1000000}},
		"networks":{"eth0":{"rx_bytes":1024,"tx_bytes":2048,"rx_packets":1,"tx_packets":1,"rx_errors":1,"tx_errors":0,"rx_dropped":2,"tx_dropped":0},"eth1":{"rx_bytes":1024,"tx_bytes":0,"rx_packets":1,"tx_packets":1,"rx_errors":0,"tx_errors":0,"rx_dropped":0,"tx_dropped":0}},
		"blkio_stats":{"io_service_bytes_recursive":[{"major":8,"minor":0,"op":"read","value":4096},{"major":8,"minor":0,"op":"Write","value":8192}]},"pids_stats":{"current":7,"limit":18446744073709551615}}`,
	"/containers/{id}/top":     `{"Titles":["UID","PID","CMD"],"Processes":[["root","12","/run --token not-a-real-key-000"]]}`,
	"/containers/{id}/changes": `[{"Path":"/etc","Kind":0},{"Path":"/etc/new|file","Kind":1}]`,
	"/images/json":             `[{"Id":"sha256:` + fakeID + `","ParentId":"","RepoTags":["shop:1"],"RepoDigests":[],"Created":1700000000,"Size":5242880,"SharedSize":-1,"Labels":{},"Containers":-1}]`,
	"/events":                  `{"Type":"container","Action":"die","Actor":{"ID":"` + fakeID + `","Attributes":{"name":"web","exitCode":"137","image":"shop:1"}},"time":1700000000,"timeNano":1700000000123000000}`,
}

// frame is a piece of a log.
func frame(stream byte, text string) []byte {
	b := make([]byte, 8, 8+len(text))
	b[0] = stream
	binary.BigEndian.PutUint32(b[4:], uint32(len(text)))
	return append(b, text...)
}

// stamped is a line as an engine sends it.
func stamped(second int, text string) string {
	return fmt.Sprintf("2026-01-02T03:04:%02d.000000000Z %s\n", second, text)
}
