package e2b

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// Ports of a machine.
const (
	envdPort = 49983
	codePort = 49999

	maxMessage = 16 << 20 // of envd
)

// A place is where a machine is.
type place struct{ envd, code string }

// placeOf returns where a machine is reached.
func (b *Backend) placeOf(id, domain string) (place, error) {
	if b.o.Machines != "" {
		return place{b.o.Machines, b.o.Machines}, nil
	}
	if domain == "" {
		domain = b.o.Domain
	}
	h, err := egress.ParseHost(domain)
	if err != nil {
		return place{}, err
	}
	at := func(port int) string { return fmt.Sprintf("https://%d-%s.%s", port, strings.ToLower(id), h.Name) }
	return place{at(envdPort), at(codePort)}, nil
}

// A wire leads to a machine.
type wire struct {
	place
	envdHTTP, codeHTTP *egress.Client
	header             http.Header // of all requests
	secrets            []string

	start   *connect.Client[startRequest, startResponse]
	signal  *connect.Client[signalRequest, struct{}]
	running *connect.Client[struct{}, listResponse]
	stat    *connect.Client[pathRequest, entryResponse]
	listing *connect.Client[listDirRequest, listDirResponse]
	move    *connect.Client[moveRequest, struct{}]
	removal *connect.Client[pathRequest, struct{}]
}

func (b *Backend) dial(m *machine) (*wire, error) {
	at, err := b.placeOf(m.SandboxID, m.Domain)
	if err != nil {
		return nil, fmt.Errorf("the address of the sandbox: %w", err)
	}
	w := &wire{place: at, header: http.Header{"E2b-Sandbox-Id": {m.SandboxID}}, secrets: []string{m.Token, m.TrafficToken}}
	if m.Token != "" {
		w.header.Set("X-Access-Token", m.Token)
	}
	if m.TrafficToken != "" {
		w.header.Set("E2B-Traffic-Access-Token", m.TrafficToken)
	}
	if w.envdHTTP, err = b.pages.Service(at.envd); err != nil {
		return nil, err
	}
	if w.codeHTTP, err = b.pages.Service(at.code); err != nil {
		return nil, err
	}
	w.start = procedure[startRequest, startResponse](w, "/process.Process/Start")
	w.signal = procedure[signalRequest, struct{}](w, "/process.Process/SendSignal")
	w.running = procedure[struct{}, listResponse](w, "/process.Process/List")
	w.stat = procedure[pathRequest, entryResponse](w, "/filesystem.Filesystem/Stat")
	w.listing = procedure[listDirRequest, listDirResponse](w, "/filesystem.Filesystem/ListDir")
	w.move = procedure[moveRequest, struct{}](w, "/filesystem.Filesystem/Move")
	w.removal = procedure[pathRequest, struct{}](w, "/filesystem.Filesystem/Remove")
	return w, nil
}

func (w *wire) close() {
	w.envdHTTP.Close()
	w.codeHTTP.Close()
}

func procedure[Req, Res any](w *wire, name string) *connect.Client[Req, Res] {
	c := w.envdHTTP.HTTP()
	c.Transport = edge{c.Transport, w.secrets}
	return connect.NewClient[Req, Res](c, w.envd+name, connect.WithCodec(codec{}), connect.WithReadMaxBytes(maxMessage))
}

// edge tells what the daemon of a machine answers from what is answered before it is
// reached, which is no message of its.
type edge struct {
	next    http.RoundTripper
	secrets []string
}

// RoundTrip implements [http.RoundTripper].
func (e edge) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.next.RoundTrip(r)
	if err != nil || resp.StatusCode == http.StatusOK {
		return resp, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var own struct {
		Code string `json:"code"` // the edge has numbers
	}
	if err != nil || json.Unmarshal(body, &own) != nil || own.Code == "" {
		_ = resp.Body.Close() // it was read
		return nil, &statusError{resp.StatusCode, said(body, e.secrets...)}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), resp.Body}
	return resp, nil
}

// codec writes messages as the JSON of protobuf, for types of this package.
type codec struct{}

// Name is the one in the type of the content.
func (codec) Name() string { return "json" }

// Marshal returns the JSON of a message.
func (codec) Marshal(v any) ([]byte, error) { return json.Marshal(v) }

// Unmarshal reads a message. Fields that it does not know are for others.
func (codec) Unmarshal(b []byte, v any) error { return json.NewDecoder(bytes.NewReader(b)).Decode(v) }

// request returns a request of envd in the name of a user of the machine.
func request[T any](w *wire, user string, v *T) *connect.Request[T] {
	r := connect.NewRequest(v)
	w.dress(r.Header(), envdPort)
	r.Header().Set("Authorization", basic(user))
	return r
}

func basic(user string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, "")
	return r.Header.Get("Authorization")
}

func (w *wire) dress(h http.Header, port int) {
	for name, values := range w.header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	h.Set("E2b-Sandbox-Port", strconv.Itoa(port))
}

// file returns where the content of a file is, and what a request for it must have.
func (w *wire) file(path string) (address string, header http.Header) {
	header = http.Header{"Authorization": {basic(user)}}
	w.dress(header, envdPort)
	return w.envd + "/files?" + url.Values{"path": {path}, "username": {user}}.Encode(), header
}

// unary makes a short call.
func unary[Req, Res any](ctx context.Context, w *wire, c *connect.Client[Req, Res], v *Req) (*Res, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	resp, err := c.CallUnary(ctx, request(w, user, v))
	if err != nil {
		return nil, err
	}
	return resp.Msg, nil
}

// Messages of process.Process.
type (
	startRequest struct {
		Process processConfig `json:"process"`
		Tag     string        `json:"tag,omitempty"`
		Stdin   *bool         `json:"stdin,omitempty"`
	}
	processConfig struct {
		Cmd  string            `json:"cmd"`
		Args []string          `json:"args,omitempty"`
		Envs map[string]string `json:"envs,omitempty"`
		Cwd  string            `json:"cwd,omitempty"`
	}
	startResponse struct {
		Event struct {
			Start *struct {
				PID uint32 `json:"pid"`
			} `json:"start"`
			Data *struct {
				Stdout []byte `json:"stdout"`
				Stderr []byte `json:"stderr"`
			} `json:"data"`
			End *endEvent `json:"end"`
		} `json:"event"`
	}
	endEvent struct {
		ExitCode int    `json:"exitCode"`
		Exited   bool   `json:"exited"`
		Status   string `json:"status"`
		Error    string `json:"error"`
	}
	selector struct {
		PID uint32 `json:"pid,omitempty"`
		Tag string `json:"tag,omitempty"`
	}
	signalRequest struct {
		Process selector `json:"process"`
		Signal  string   `json:"signal"`
	}
	listResponse struct {
		Processes []struct {
			PID uint32 `json:"pid"`
			Tag string `json:"tag"`
		} `json:"processes"`
	}
)

// Messages of filesystem.Filesystem.
type (
	pathRequest struct {
		Path string `json:"path"`
	}
	moveRequest struct {
		Source      string `json:"source"`
		Destination string `json:"destination"`
	}
	entryResponse struct {
		Entry entry `json:"entry"`
	}
	entry struct {
		Type     string    `json:"type"`
		Path     string    `json:"path"`
		Size     int64text `json:"size"`
		Modified time.Time `json:"modifiedTime"`
		Target   *string   `json:"symlinkTarget"`
	}
	listDirRequest struct {
		Path  string `json:"path"`
		Depth int    `json:"depth,omitempty"`
	}
	listDirResponse struct {
		Entries []entry `json:"entries"`
	}
)

// int64text is a number that the JSON of protobuf writes as a text.
type int64text int64

// UnmarshalJSON reads a number or a text of one.
func (n *int64text) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64)
	*n = int64text(v)
	return err
}
