package tenon_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/tool"
)

// A Go function becomes a tool of the pool; what it takes and gives is checked
// and described by its types.
func ExampleAddTool() {
	type Area struct {
		Width  float64 `json:"width" jsonschema:"in metres"`
		Height float64 `json:"height" jsonschema:"in metres"`
	}
	type SquareMetres struct {
		Area float64 `json:"area"`
	}
	var o tenon.Options
	tenon.AddTool(&o, tenon.Function{Name: "area", Description: "Area of a rectangle."},
		func(_ context.Context, in Area) (SquareMetres, error) {
			if in.Width < 0 || in.Height < 0 {
				return SquareMetres{}, errors.New("width and height must not be negative")
			}
			return SquareMetres{in.Width * in.Height}, nil
		})

	gw, err := tenon.Open(context.Background(), o)
	if err != nil {
		log.Fatal(err)
	}
	defer gw.Close()
	ctx := context.Background()
	fmt.Println(gw.Call(ctx, tool.Call{Server: "go", Tool: "area", Arguments: []byte(`{"width": 3, "height": 4}`)}).Text())
	fmt.Println(gw.Call(ctx, tool.Call{Server: "go", Tool: "area", Arguments: []byte(`{"width": -3, "height": 4}`)}).Text())
	// Output:
	// {"area":12}
	// width and height must not be negative
}

// A wrong server name that leaves one reading is put right, and the result says so.
func ExampleGateway_Call() {
	var o tenon.Options
	tenon.AddTool(&o, tenon.Function{Name: "greet", Description: "Greets."},
		func(_ context.Context, in struct {
			Name string `json:"name"`
		},
		) (map[string]string, error) {
			return map[string]string{"text": "Hello, " + in.Name}, nil
		})
	gw, err := tenon.Open(context.Background(), o)
	if err != nil {
		log.Fatal(err)
	}
	defer gw.Close()
	res := gw.Call(context.Background(), tool.Call{Server: "greeter", Tool: "greet", Arguments: []byte(`{"name": "Ada"}`)})
	fmt.Println(res.Text())
	fmt.Println(res.Notes[0].Text)
	res = gw.Call(context.Background(), tool.Call{Server: "go", Tool: "great"})
	fmt.Println(res.Kind, "-", res.Text())
	// Output:
	// {"text":"Hello, Ada"}
	// there is no server "greeter": corrected to "go", the only one that has greet
	// not_found - Server go has no tool great. The nearest tools are: go/greet.
}

// Tools lists what the pool offers, by server, in the order of the configuration.
func ExampleGateway_Tools() {
	var o tenon.Options
	tenon.AddTool(&o, tenon.Function{Name: "now", Description: "The time."},
		func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	gw, err := tenon.Open(context.Background(), o)
	if err != nil {
		log.Fatal(err)
	}
	defer gw.Close()
	listing, err := gw.Tools(context.Background(), tenon.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range listing.Servers {
		for _, t := range s.Tools {
			fmt.Println(t.ID, "-", t.Description)
		}
	}
	// Output:
	// go/now - The time.
}

// TestExampleServers: the examples of a server of one's own join the pool.
func TestExampleServers(t *testing.T) {
	t.Parallel()
	root := testenv.Root(t)
	tsx := testenv.NPM(t, "tsx")
	// Node.js looks for packages beside the file.
	dir := t.TempDir()
	source, err := os.ReadFile(filepath.Join(root, "examples", "typescript", "server.mts"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.mts"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(filepath.Dir(tsx), ".."), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	g := open(t, tenon.Options{Config: write(t, fmt.Sprintf(`version: 1
servers:
  go: {command: go, args: [run, ./examples/go], cwd: %q, start_timeout: 2m, env: {GOFLAGS: -mod=readonly, GOCACHE: %q, GOMODCACHE: %q}}
  typescript: {command: %q, args: [server.mts], cwd: %q, start_timeout: 1m}
`, root, goEnv(t, "GOCACHE"), goEnv(t, "GOMODCACHE"), tsx, dir))})
	for _, server := range []string{"go", "typescript"} {
		res := g.Call(t.Context(), tool.Call{Server: server, Tool: "roll", Arguments: []byte(`{"sides":6,"dice":3}`)})
		if res.Kind != "" {
			t.Errorf("%s: %s", server, res.Text())
		}
		if res := g.Call(t.Context(), tool.Call{Server: server, Tool: "roll", Arguments: []byte(`{"sides":1}`)}); res.Kind == "" {
			t.Errorf("%s takes a die of one side", server)
		}
	}
}
