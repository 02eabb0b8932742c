package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// planted is in every secret of the scripts about them. No file of a script that is
// looked through holds it.
const planted = "n0t-a-real"

// leaky is a tool server that shows what it was given, wherever it can: in the
// texts about itself, in results and errors, in progress, in what it logs, and when
// it dies. What it was given are the variables whose names begin with LEAKY_.
func leaky() {
	var all []string
	for _, e := range os.Environ() {
		if name, value, _ := strings.Cut(e, "="); strings.HasPrefix(name, "LEAKY_") {
			all = append(all, value)
		}
	}
	slices.Sort(all)
	said := strings.Join(all, " ")
	fmt.Fprintln(os.Stderr, "started with", said)
	if os.Getenv("LEAKY_DEATH") != "" {
		os.Exit(3)
	}
	_ = leakyServer(said).Run(context.Background(), &mcp.StdioTransport{}) // it ends when its client does
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
}

// leakyServer returns a server that says a text everywhere:
//
//	show   says a variable, or the headers of its request
//	leak   says it in text, in structured content, in other spellings, in progress and in the log
//	fail   fails with it
//	refuse answers with an error of the protocol
//	die    ends the process with it
func leakyServer(said string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "leaky " + said, Version: "1"}, &mcp.ServerOptions{Instructions: "Use " + said})
	add := func(name string, f func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{
			Name: name, Description: "Shows " + said + ".",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":` + strconv.Quote(said) + `}}}`),
		}, f)
	}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	add("show", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Extra != nil && r.Extra.Header != nil {
			return text(r.Extra.Header.Get("Authorization") + " " + r.Extra.Header.Get("X-Key")), nil
		}
		var in struct{ Name string }
		err := json.Unmarshal(r.Params.Arguments, &in)
		return text(os.Getenv(in.Name)), err
	})
	add("leak", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: "working with " + said})
		}
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: said})
		fmt.Fprintln(os.Stderr, "called with", said)
		quoted, _ := json.Marshal(said)
		res := text(said + "\n" + string(quoted) + "\n" + url.QueryEscape(said) + "\n" + base64.StdEncoding.EncodeToString([]byte("u:"+said)))
		res.StructuredContent = map[string]any{"said": said, said: 1}
		res.Content = append(res.Content, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("no secret")},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///x", Text: said}})
		return res, nil
	})
	add("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := &mcp.CallToolResult{}
		res.SetError(errors.New("failed with " + said))
		return res, nil
	})
	add("refuse", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("refused with " + said)
	})
	add("die", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "panic:", said)
		os.Exit(2)
		return nil, nil
	})
	return s
}

// leakyHTTP starts the server over HTTP, at $LEAKY_URL.
func leakyHTTP(ts *testscript.TestScript, _ bool, _ []string) {
	s := leakyServer("nothing")
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	ts.Defer(srv.Close)
	ts.Setenv("LEAKY_URL", srv.URL)
}

// hides wants no planted secret in files, in all files of folders, in "stdout" and
// "stderr", or in the command lines of all processes that the gateway has started.
func hides(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: hides stdout|stderr|processes|FILE|FOLDER…")
	}
	var shown []string
	look := func(where, text string) {
		for _, s := range spellings() {
			if strings.Contains(text, s) {
				shown = append(shown, where+" shows "+s)
			}
		}
	}
	for _, arg := range args {
		switch arg {
		case "stdout", "stderr":
			look(arg, ts.ReadFile(arg))
		case "processes":
			lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
			ts.Check(err)
			for _, path := range lines {
				if line, err := os.ReadFile(path); err == nil { // it may have ended
					look(path, string(line))
				}
			}
		default:
			files := 0
			ts.Check(filepath.WalkDir(ts.MkAbs(arg), func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				files++
				data, err := os.ReadFile(path)
				look(path, string(data))
				return err
			}))
			if files == 0 {
				ts.Fatalf("%s holds no file", arg)
			}
		}
	}
	if neg == (len(shown) == 0) {
		ts.Fatalf("shown: %s", strings.Join(shown, "\n"))
	}
}

// spellings are how the beginning of every planted secret may be written.
func spellings() []string {
	out := []string{planted}
	for before := range 3 {
		core := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), planted...))
		out = append(out, core[4:len(core)-2])
	}
	return out
}
