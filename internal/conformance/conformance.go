// Package conformance measures how transparent the gateway is: it starts MCP
// servers, puts a gateway before them, and lets the official conformance suite,
// clients of other makers and plain comparison of bytes judge what comes out. It
// is no part of the product.
//
// A Lab knows where Node.js, the suite and the built programs are. It starts
// fixtures and gateways, and runs scenarios through them one suite at a time:
//
//	lab, err := conformance.Open(ctx, root)
//	…
//	fixture, err := lab.Fixture(ctx, conformance.Stateful)
//	…
//	gateway, err := lab.Gateway(ctx, map[string]any{"s": map[string]any{"url": fixture.URL}})
//	…
//	sheet, err := lab.RunServer(ctx, gateway.Server("s"), "2025-11-25")
//
// "make conformance" prints all of it as one table, and "make servers" compares
// real servers of npm with what the gateway makes of them. What the suite and the
// clients need is pinned in testdata/conformance.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// ErrMissing says that something the lab needs is not installed.
var ErrMissing = errors.New("not installed")

// A Lab holds what the measurements share.
type Lab struct {
	// Root is the folder of the repository.
	Root string
	// NPM is the folder that testdata/conformance is installed in.
	NPM string
	// Node is Node.js 22 or newer.
	Node string
	// Tenon, Server and Client are the gateway, and the SDK's conformance server
	// and client, built.
	Tenon, Server, Client string

	bin string
}

// sdk is where the official SDK keeps its fixtures.
const sdk = "github.com/modelcontextprotocol/go-sdk/conformance/"

// Open looks up what is installed and builds the programs. The error wraps
// ErrMissing where npm packages or Node.js are not there.
func Open(ctx context.Context, root string) (*Lab, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	l := &Lab{Root: root, NPM: filepath.Join(root, ".cache", "conformance"), bin: filepath.Join(root, ".cache", "conformance-bin")}
	if err := l.find(ctx); err != nil {
		return nil, err
	}
	for _, b := range []struct {
		path *string
		pkg  string
	}{
		{&l.Tenon, "./cmd/tenon"},
		{&l.Server, sdk + "everything-server"},
		{&l.Client, sdk + "everything-client"},
	} {
		if err := l.build(ctx, b.path, b.pkg); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// find sets Node, and checks that the packages are installed.
func (l *Lab) find(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(l.NPM, ".installed")); err != nil {
		return fmt.Errorf("the conformance suite is %w: tools/npm.sh conformance", ErrMissing)
	}
	candidates, err := filepath.Glob(filepath.Join(l.NPM, "node_modules", "node-*", "bin", "node*"))
	if err != nil {
		return err
	}
	if path, err := exec.LookPath("node"); err == nil {
		candidates = append(candidates, path)
	}
	for _, path := range candidates {
		out, err := exec.CommandContext(ctx, path, "--version").Output() // #nosec G204 -- a program of the lab
		if err != nil {
			continue
		}
		major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
		if n, err := strconv.Atoi(major); err == nil && n >= 22 {
			l.Node = path
			return nil
		}
	}
	return fmt.Errorf("version 22 of Node.js is %w: there is no build of it for %s/%s, and none on the path", ErrMissing, runtime.GOOS, runtime.GOARCH)
}

// build builds pkg and sets path to the program.
func (l *Lab) build(ctx context.Context, path *string, pkg string) error {
	*path = filepath.Join(l.bin, filepath.Base(pkg))
	if runtime.GOOS == "windows" {
		*path += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", *path, pkg) // #nosec G204 -- the packages above
	cmd.Dir = l.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released, and as other tests build it: packages compile once
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// Script returns a command that runs a program of an npm package with the lab's
// Node.js: package is its name, path the file inside it.
func (l *Lab) Script(ctx context.Context, pkg, path string, args ...string) *exec.Cmd {
	file := filepath.Join(l.NPM, "node_modules", filepath.FromSlash(pkg), filepath.FromSlash(path))
	cmd := exec.CommandContext(ctx, l.Node, append([]string{file}, args...)...) // #nosec G204 -- a program of the lab
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(l.Node)+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}

// localhost returns raw with the name that the suite wants: it refuses to test
// protection against rebinding on any other.
func localhost(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", err
	}
	u.Host = "localhost:" + u.Port()
	return u.String(), nil
}
