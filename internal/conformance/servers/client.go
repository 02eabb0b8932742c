package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// hello is what both clients say of themselves: no capabilities, as a gateway on a
// shared connection.
const hello = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"comparison","version":"1"}}`

// An asker sends a request and returns the raw result. A server that does not know
// the method gives errRefused.
type asker func(ctx context.Context, method, params string) (json.RawMessage, error)

var errRefused = errors.New("refused")

// kinds are the lists that are compared: what they are called, and their member.
var kinds = []struct{ method, member string }{
	{"tools/list", "tools"},
	{"prompts/list", "prompts"},
	{"resources/list", "resources"},
	{"resources/templates/list", "resourceTemplates"},
}

// offers are the entries of each list, as bytes.
type offers map[string][]json.RawMessage

// gather asks for all pages of all lists. A list that the server refuses is empty.
func gather(ctx context.Context, ask asker) (offers, error) {
	all := offers{}
	for _, k := range kinds {
		params := "{}"
		for range 100 {
			result, err := ask(ctx, k.method, params)
			if errors.Is(err, errRefused) && k.member != "tools" {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k.method, err)
			}
			var members map[string]json.RawMessage
			var entries []json.RawMessage
			if err := json.Unmarshal(result, &members); err != nil {
				return nil, fmt.Errorf("%s: %w", k.method, err)
			}
			if err := json.Unmarshal(members[k.member], &entries); err != nil {
				return nil, fmt.Errorf("%s: %w", k.method, err)
			}
			all[k.member] = append(all[k.member], entries...)
			if members["nextCursor"] == nil {
				break
			}
			params = `{"cursor":` + string(members["nextCursor"]) + `}`
		}
	}
	return all, nil
}

// message is what one line or event holds.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// answer returns the result of m.
func (m message) answer() (json.RawMessage, error) {
	if m.Error != nil {
		return nil, fmt.Errorf("%w: %s", errRefused, short(string(m.Error)))
	}
	return m.Result, nil
}

// direct starts p and returns what it offers, and how long the first list took.
func direct(ctx context.Context, p program) (all offers, took time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, p.args...) // #nosec G204 -- a server of the catalog
	cmd.Dir = p.dir
	for name, value := range p.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = out.Close() }) // or a silent server would hold the reader
	lines, id := bufio.NewReaderSize(out, 1<<20), 0
	ask := func(_ context.Context, method, params string) (json.RawMessage, error) {
		id++
		if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
			return nil, err
		}
		return await(lines, in, fmt.Sprint(id))
	}
	_, err = ask(ctx, "initialize", hello)
	if err == nil {
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	if err == nil {
		if _, err = ask(ctx, "tools/list", "{}"); err == nil {
			took = time.Since(start)
			all, err = gather(ctx, ask)
		}
	}
	_ = in.Close() // the end, as far as the server cares
	stop()
	cancel()
	_ = cmd.Wait() // interrupted
	if err != nil {
		err = fmt.Errorf("%w; standard error: %s", err, short(stderr.String()))
	}
	return all, took, err
}

// await reads lines until the answer to id, and refuses what the server asks.
func await(lines *bufio.Reader, in io.Writer, id string) (json.RawMessage, error) {
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue // some servers print what is no message
		}
		switch {
		case m.Method != "" && m.ID != nil:
			if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID); err != nil {
				return nil, err
			}
		case m.Method == "" && string(m.ID) == id:
			return m.answer()
		}
	}
}

// through asks the gateway at url for what it offers, in one legacy session.
func through(ctx context.Context, url string) (offers, error) {
	session := ""
	ask := func(ctx context.Context, method, params string) (json.RawMessage, error) {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = res.Body.Close() }()
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		return first(text)
	}
	if _, err := ask(ctx, "initialize", hello); err != nil {
		return nil, err
	}
	return gather(ctx, ask)
}

// first returns the answer in a body, which is a message or a stream of events.
func first(body []byte) (json.RawMessage, error) {
	for line := range bytes.Lines(body) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data:")))
		var m message
		if json.Unmarshal(line, &m) == nil && m.Method == "" && m.ID != nil {
			return m.answer()
		}
	}
	return nil, fmt.Errorf("no answer: %s", short(string(body)))
}
