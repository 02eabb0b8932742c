package suite_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/tenon-mcp/tenon/bench/client"
	"github.com/tenon-mcp/tenon/bench/upstream"
)

// A relay is the simplest gateway: what it cannot do, the suite must tell.
type relay struct {
	fault   string
	servers map[string]*server
	calls   int
}

// A server is one that the relay stands before, for one call at a time.
type server struct {
	mu      sync.Mutex
	session *client.Session
	tools   []json.RawMessage
}

// relayMain runs a relay with a fault, or with none where it is "sound".
func relayMain(ctx context.Context, args []string) error {
	r := &relay{fault: args[0], servers: map[string]*server{}}
	flags := flag.NewFlagSet("relay", flag.ContinueOnError)
	config, listen := flags.String("config", "", ""), flags.String("listen", "", "")
	if err := flags.Parse(args[2:]); err != nil || args[1] != "serve" {
		return fmt.Errorf("arguments %q: %w", args, err)
	}
	if r.fault == "dies" {
		return fmt.Errorf("no gateway today")
	}
	if *config != "" {
		if err := r.connect(ctx, *config); err != nil {
			return err
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: r, ReadHeaderTimeout: time.Second}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	_ = s.Serve(l)
	for _, s := range r.servers {
		if err := s.session.Close(); err != nil {
			return err
		}
	}
	return nil
}

// connect starts the configured servers.
func (r *relay) connect(ctx context.Context, file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var config struct {
		Version int
		Servers map[string]struct {
			Command string
			Args    []string
			URL     string
		}
		Tools map[string]map[string]int
		Store map[string]string
	}
	if err := yaml.UnmarshalWithOptions(b, &config, yaml.Strict()); err != nil {
		return err
	}
	for name, entry := range config.Servers {
		s := &server{}
		if entry.URL != "" {
			s.session, err = client.DialHTTP(ctx, entry.URL)
		} else {
			// The server ends with its input, after the relay's own end.
			s.session, err = client.StartStdio(context.WithoutCancel(ctx), append([]string{entry.Command}, entry.Args...))
		}
		if err != nil {
			return err
		}
		raw, err := s.session.Ask("tools/list", "{}")
		if err != nil {
			return err
		}
		var list struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		s.tools, r.servers[name] = list.Tools, s
	}
	return nil
}

func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		return // /readyz, and the end of a session
	}
	body, err := io.ReadAll(req.Body)
	m, ok := upstream.Scan(body)
	if err != nil || !ok {
		http.Error(w, "no message", http.StatusBadRequest)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Mcp-Session-Id", "one")
	result, err := r.answer(string(m.Method), m.Params)
	if err != nil {
		result = fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}],"isError":true}`, err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (r *relay) answer(method string, params []byte) ([]byte, error) {
	switch method {
	case "initialize":
		return []byte(`{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"relay","version":"1"}}`), nil
	case "tools/list":
		tools := []json.RawMessage{}
		if len(r.servers) == 0 {
			tools = append(tools, json.RawMessage(`{"name":"builtin"}`))
		}
		for name, s := range r.servers {
			for _, t := range s.tools {
				tools = append(tools, json.RawMessage(strings.Replace(string(t), `"name":"`, `"name":"`+name+"__", 1)))
			}
		}
		return json.Marshal(map[string]any{"tools": tools})
	case "tools/call":
		var p struct{ Name string }
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		name, tool, _ := strings.Cut(p.Name, "__")
		return r.call(r.servers[name], strings.Replace(string(params), p.Name, tool, 1))
	}
	return nil, fmt.Errorf("no method %s", method)
}

func (r *relay) call(s *server, params string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.calls++
	if r.fault == "refuses" && r.calls > 3 {
		return nil, fmt.Errorf("too many calls")
	}
	result, err := s.session.Ask("tools/call", params)
	if r.fault == "changes" {
		result = []byte(strings.Replace(string(result), "abc", "abd", 1))
	}
	return result, err
}
