package docker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/docker"
)

func TestMain(m *testing.M) {
	code := m.Run()
	stopLab()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// client returns a client of a server in an environment, which is empty where env
// is nil: what this machine has must not matter.
func client(t *testing.T, o docker.Options, env map[string]string) *mcp.ClientSession {
	t.Helper()
	empty := t.TempDir()
	srv, err := docker.NewEnv(o, func(name string) string {
		if v, ok := env[name]; ok {
			return v
		}
		if name == "DOCKER_CONFIG" {
			return empty
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	return testenv.Client(t, srv)
}

type args = map[string]any

// call calls a tool and returns its answer, as text and decoded into out. It
// fails where the answer breaks the bound that is declared for the tool, or is an
// error though none is wanted.
func call(t *testing.T, cs *mcp.ClientSession, tool string, arguments args, out any) string {
	t.Helper()
	text, isError, structured := try(t, t.Context(), cs, tool, arguments)
	if isError {
		t.Fatalf("%s %s: %s", tool, brief(arguments), text)
	}
	if out != nil {
		if err := json.Unmarshal(structured, out); err != nil {
			t.Fatal(err)
		}
	}
	return text
}

// refused calls a tool that must fail, with an error that holds all of want.
func refused(t *testing.T, cs *mcp.ClientSession, tool string, arguments args, want ...string) {
	t.Helper()
	text, isError, _ := try(t, t.Context(), cs, tool, arguments)
	for _, w := range want {
		if !isError || !strings.Contains(text, w) {
			t.Errorf("%s %s: error %v, want one with %q: %.600s", tool, brief(arguments), isError, w, text)
		}
	}
}

func try(t *testing.T, ctx context.Context, cs *mcp.ClientSession, tool string, arguments args) (string, bool, []byte) {
	t.Helper()
	start := time.Now()
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error(), true, nil
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if n, most := utf8.RuneCountInString(text), docker.Meta()[tool].MaxResultChars; n > most || n == 0 {
		t.Errorf("%s: answer of %d characters; 1 to %d are declared", tool, n, most)
	}
	if strings.ContainsAny(text, "\x1b\x00\r\x07\u200b") {
		t.Errorf("%s: control characters in the answer: %q", tool, text)
	}
	if testing.Verbose() {
		t.Logf("%s %s in %s\n%s", tool, brief(arguments), time.Since(start).Round(time.Millisecond), text)
	}
	b, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if !res.IsError {
		fits(t, tool, b)
	}
	return text, res.IsError, b
}

// outputs are the schemas of the structured answers.
var outputs = sync.OnceValues(func() (map[string]*jsonschema.Resolved, error) {
	srv, err := docker.New(docker.Options{})
	if err != nil {
		return nil, err
	}
	cs, stop, err := testenv.Dial(context.Background(), srv, nil)
	if err != nil {
		return nil, err
	}
	list, err := cs.ListTools(context.Background(), nil)
	if err := errors.Join(err, stop()); err != nil {
		return nil, err
	}
	schemas := map[string]*jsonschema.Resolved{}
	for _, tl := range list.Tools {
		b, err := json.Marshal(tl.OutputSchema)
		if err != nil {
			return nil, err
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(b, &s); err != nil {
			return nil, err
		}
		if schemas[tl.Name], err = s.Resolve(nil); err != nil {
			return nil, err
		}
	}
	return schemas, nil
})

// fits fails where a structured answer is not what its schema says.
func fits(t *testing.T, tool string, structured []byte) {
	t.Helper()
	schemas, err := outputs()
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(structured, &v); err != nil {
		t.Fatal(err)
	}
	if err := schemas[tool].Validate(v); err != nil {
		t.Errorf("%s: %.300s: %v", tool, structured, err)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// brief returns arguments for a message.
func brief(a args) string {
	s := fmt.Sprint(map[string]any(a))
	return s[:min(len(s), 200)]
}

// wants fails where text does not hold all of parts.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in\n%s", p, text)
		}
	}
}

// lacks fails where text holds one of parts.
func lacks(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("%q is in\n%s", p, text)
		}
	}
}

// memory is how many bytes were allocated so far.
func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
