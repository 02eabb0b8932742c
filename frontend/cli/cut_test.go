package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestCallCutOffByTheEndOfTheGateway: nobody gave up a call that the gateway cuts off
// at its end. Of one that may write nobody knows what became of it; one that only reads
// can be made again.
func TestCallCutOffByTheEndOfTheGateway(t *testing.T) {
	srv := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	begun, over := make(chan struct{}, 10), make(chan struct{})
	for _, name := range []string{"write", "read"} {
		sdk.AddTool(srv, &sdk.Tool{Name: name}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			begun <- struct{}{}
			<-over
			return nil, nil, nil
		})
	}
	url := listen(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() { close(over) })
	config := configFile(t, "version: 1\nservers:\n  far:\n    url: \""+url+"\"\n    max_concurrent: 10\ntools: {far/read: {read_only: true}}\n")
	env := append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir(), "TENON_GATEWAY=", "TENON_TOKEN=", "TENON_APPROVER_TOKEN=")
	c := command{args: []string{"serve", "--listen", "127.0.0.1:0", "--output", "json", "--config", config}, env: env, grace: 50 * time.Millisecond}
	stdout, interrupt := c.start(t)
	var at struct{ MCP, REST string }
	if err := json.NewDecoder(stdout).Decode(&at); err != nil {
		t.Fatal(err, c.log.String())
	}
	var calling sync.WaitGroup
	defer calling.Wait()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	session := connect(t, at.MCP)
	legacy := connect(t, at.MCP, "2025-06-18")
	ways := 0
	check := func(way, kind, want string, do func() string) {
		ways++
		calling.Go(func() {
			if got := do(); !strings.Contains(got, kind) || !strings.Contains(got, want) || strings.Contains(got, "cancel") || strings.Contains(got, "interrupt") {
				t.Errorf("%s: got %s\nwant %s with %q", way, got, kind, want)
			}
		})
	}
	for name, want := range map[string][3]string{
		"write": {"outcome_unknown", "exit 7", "The gateway was ended while the call ran, and nobody knows whether it took effect. Before calling it again, check"},
		"read":  {"unavailable", "exit 5", "The gateway was ended while the call ran. The tool can be called again"},
	} {
		check("rest "+name, want[0], want[2], func() string {
			res, err := client.Post(at.REST+"/calls", "application/json", strings.NewReader(`{"server":"far","tool":"`+name+`"}`))
			if err != nil {
				return err.Error()
			}
			defer res.Body.Close()
			body, _ := io.ReadAll(res.Body)
			return string(body)
		})
		check("cli "+name, want[1], want[2], func() string {
			var out bytes.Buffer
			c := command{args: []string{"call", "far", name, "--gateway", at.REST}, stdout: &out, env: env}
			code := c.run(context.WithoutCancel(t.Context()), t)
			return out.String() + c.log.String() + map[int]string{5: "exit 5", 7: "exit 7"}[code]
		})
		for era, s := range map[string]*sdk.ClientSession{"mcp": session, "legacy mcp": legacy} {
			check(era+" "+name, want[0], want[2], func() string {
				res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "far__" + name})
				if err != nil {
					return err.Error()
				}
				b, _ := json.Marshal(res)
				return string(b)
			})
		}
	}
	for range ways {
		select {
		case <-begun:
		case <-time.After(time.Minute):
			t.Fatal("a call did not begin", c.log.String())
		}
	}
	if code := interrupt(); code != 0 {
		t.Errorf("exit code %d: %s", code, c.log.String())
	}
}
