package conformance_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/conformance"
)

// built is the lab, which takes some seconds to build.
var built = sync.OnceValues(func() (*conformance.Lab, error) {
	return conformance.Open(context.Background(), filepath.Join("..", ".."))
})

// open builds the programs once, or skips the test where the packages are missing.
func open(t *testing.T) *conformance.Lab {
	t.Helper()
	lab, err := built()
	if errors.Is(err, conformance.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lab
}

// before starts a fixture of the era and a gateway before it.
func before(t *testing.T, lab *conformance.Lab, era conformance.Era) (*conformance.Fixture, *conformance.Gateway) {
	t.Helper()
	// Not the test's own context: that ends before the cleanup, which is to end them
	// in good order.
	fixture, err := lab.Fixture(context.WithoutCancel(t.Context()), era)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fixture.Close)
	gateway, err := lab.Gateway(context.WithoutCancel(t.Context()), map[string]any{"fixture": map[string]any{"url": fixture.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gateway.Close)
	return fixture, gateway
}

// output runs cmd in an empty home and returns what it prints.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Env = append(conformance.Private(t.TempDir()), "PATH="+filepath.Dir(cmd.Path)+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.WaitDelay = time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, &stderr)
	}
	return string(out)
}

// bounded returns a context for one run of a client.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestTypeScriptClients: both versions of the official TypeScript SDK see through
// the gateway what they see without it, in every pair of eras.
func TestTypeScriptClients(t *testing.T) {
	lab := open(t)
	for _, c := range []struct {
		server      conformance.Era
		client, era string
	}{
		{conformance.Stateful, "sdk", ""},
		{conformance.Stateless, "sdk", ""},
		{conformance.Stateful, "client", "auto"},
		{conformance.Stateless, "client", "2026-07-28"},
		{conformance.Both, "client", "legacy"},
		{conformance.Both, "client", "auto"},
	} {
		t.Run(fmt.Sprintf("%s %s of a %s server", c.client, c.era, c.server), func(t *testing.T) {
			fixture, gateway := before(t, lab, c.server)
			see := func(url string) string {
				cmd := exec.CommandContext(bounded(t), lab.Node, "testdata/client.cjs", lab.NPM, c.client, url, c.era) // #nosec G204 -- a program of the lab
				return output(t, cmd)
			}
			direct := see(fixture.URL)
			for _, url := range []string{gateway.MCP, gateway.Server("fixture")} {
				if diff := cmp.Diff(direct, see(url)); diff != "" {
					t.Errorf("through %s (-direct +gateway):\n%s", url, diff)
				}
			}
		})
	}
}

// TestInspector: the inspector's command line works in each of its modes.
func TestInspector(t *testing.T) {
	lab := open(t)
	_, gateway := before(t, lab, conformance.Both)
	for _, c := range []struct {
		era  string
		args []string
		want string
	}{
		{"auto", []string{"--method", "tools/list"}, `"test_simple_text"`},
		{"modern", []string{"--method", "tools/call", "--tool-name", "test_simple_text", "--tool-args-json", "{}"}, "This is a simple text response for testing."},
		{"legacy", []string{"--method", "resources/read", "--uri", "test://static-text"}, "test://static-text"},
		{"modern", []string{"--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=one", "arg2=two"}, "one"},
	} {
		t.Run(c.era+" "+strings.ReplaceAll(c.args[1], "/", " "), func(t *testing.T) {
			args := append([]string{"--cli", gateway.Server("fixture"), "--transport", "http", "--protocol-era", c.era, "--format", "json"}, c.args...)
			got := output(t, lab.Script(bounded(t), "@modelcontextprotocol/inspector", "clients/launcher/build/index.js", args...))
			if !strings.Contains(got, c.want) || strings.Contains(got, `"isError":true`) {
				t.Errorf("lacks %s: %s", c.want, got)
			}
		})
	}
}

// TestMCPRemote: mcp-remote bridges standard input to the gateway in both of its
// modes, before servers of either era.
func TestMCPRemote(t *testing.T) {
	lab := open(t)
	for _, server := range []conformance.Era{conformance.Stateful, conformance.Stateless} {
		for _, protocol := range []string{"", "auto"} {
			t.Run(fmt.Sprintf("protocol %q before a %s server", protocol, server), func(t *testing.T) {
				_, gateway := before(t, lab, server)
				args := []string{gateway.Server("fixture"), "--allow-http", "--transport", "http-only"}
				if protocol != "" {
					args = append(args, "--protocol", protocol)
				}
				remote(t, lab.Script(bounded(t), "mcp-remote", "dist/proxy.js", args...))
			})
		}
	}
}

// remote talks to a bridge on standard input and output.
func remote(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Env = append(conformance.Private(t.TempDir()), "PATH="+filepath.Dir(cmd.Path)+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	ask := func(id int, method, params, want string) {
		_, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`+"\n", id, method, params)
		for err == nil {
			var line string
			if line, err = lines.ReadString('\n'); !strings.Contains(line, fmt.Sprintf(`"id":%d`, id)) {
				continue
			}
			if !strings.Contains(line, want) {
				t.Errorf("%s: lacks %s: %s", method, want, line)
			}
			return
		}
		t.Errorf("%s: no answer: %v", method, err)
	}
	ask(1, "initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"pipe","version":"1"}`, `"serverInfo"`)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Error(err)
	}
	ask(2, "tools/list", "", `"test_simple_text"`)
	ask(3, "tools/call", `"name":"test_simple_text","arguments":{}`, "This is a simple text response for testing.")
	ask(4, "resources/read", `"uri":"test://static-text"`, `"contents"`)
	ask(5, "prompts/get", `"name":"test_simple_prompt"`, `"messages"`)
	_ = in.Close()         // ends the bridge
	_ = cmd.Process.Kill() // where the end of input does not
	_ = cmd.Wait()         // killed
	if t.Failed() {
		t.Log(stderr.String())
	}
}

// TestScenarios: some scenarios of the official suite, in each pair of eras; all
// of them are "make conformance".
func TestScenarios(t *testing.T) {
	lab := open(t)
	for _, c := range []struct {
		server    conformance.Era
		revision  string
		scenarios []string
	}{
		{conformance.Stateful, "2025-11-25", []string{"tools-call-elicitation", "resources-subscribe"}},
		{conformance.Stateless, "2026-07-28", []string{"input-required-result-multi-round", "caching"}},
		{conformance.Stateless, "2025-11-25", []string{"tools-call-with-logging"}},
		{conformance.Stateful, "2026-07-28", []string{"input-required-result-basic-sampling"}},
	} {
		_, gateway := before(t, lab, c.server)
		sheet, err := lab.RunServer(bounded(t), gateway.Server("fixture"), c.revision, c.scenarios...)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range sheet {
			if !o.OK || o.Passed == 0 {
				t.Errorf("%s at %s before a %s server: %d of %d checks failed: %s", o.Scenario, c.revision, c.server, o.Failed, o.Failed+o.Passed, o.Why)
			}
		}
	}
}
