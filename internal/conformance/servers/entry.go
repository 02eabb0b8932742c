package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/conformance"
)

// An entry is a server of the catalog.
type entry struct {
	Server, Package, Version string
	// Ran is how it was started: node, the file below node_modules, arguments.
	Ran string
	// Env names the variables that it was started with, to dummy values.
	Env []string
}

// catalog reads the entries of a folder, in the order of their names.
func catalog(dir string) ([]entry, error) {
	files, err := filepath.Glob(filepath.Join(dir, "catalog", "*.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no catalog/*.json in %q: -corpus or $TENON_TEST_CORPUS names the folder", dir)
	}
	var all []entry
	for _, f := range files {
		text, err := os.ReadFile(f) // #nosec G304 -- a file of the corpus
		if err != nil {
			return nil, err
		}
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// dummy returns a value for a variable that lets a server start, and nothing more.
func dummy(name, home string) string {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
	}
	switch {
	case has("TRANSPORT"):
		return "stdio"
	case has("LOG_LEVEL"):
		return "error"
	case has("DATA_DIR"):
		return filepath.Join(home, "data")
	case has("CREDENTIALS", "OAUTH_PATH"):
		return filepath.Join(home, "oauth.json")
	case has("ENABLE_GUI"):
		return "false"
	case has("PRO_MODE"):
		return "true"
	case has("MAPBOX_ACCESS_TOKEN"):
		return "pk.eyJ1IjoiZHVtbXkifQ.bm90LWEtcmVhbC1rZXk" // looks for the parts of a token
	case has("EMAIL_ADDRESS"):
		return "nobody@example.test"
	case has("HOST"):
		return "127.0.0.1"
	case has("URL"):
		return "http://127.0.0.1:1"
	}
	return "not-a-real-key-000"
}

// A program is a server that is installed and can be started.
type program struct {
	path string
	args []string
	env  map[string]string
	dir  string
}

// prepare makes the folder that e runs in, with what its arguments name.
func prepare(e entry, packages, home, node string, offline bool) (program, error) {
	p := program{path: node, dir: home, env: map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home, "XDG_DATA_HOME": home,
		"NO_UPDATE_NOTIFIER": "1", "PATH": filepath.Dir(node) + string(os.PathListSeparator) + os.Getenv("PATH"),
	}}
	data := filepath.Join(home, "corpus", "work", "data")
	for _, dir := range []string{data, filepath.Join(home, "data")} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return p, err
		}
	}
	const secrets = `{"installed":{"client_id":"nobody","client_secret":"not-a-real-key-000","redirect_uris":["http://localhost:3000/oauth2callback"]}}`
	for name, text := range map[string]string{
		filepath.Join(data, "a.txt"):        "a\n",
		filepath.Join(data, "test.db"):      "",
		filepath.Join(home, "oauth.json"):   secrets,
		filepath.Join(home, "package.json"): "{}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return p, err
		}
	}
	for _, name := range e.Env {
		p.env[name] = dummy(name, home)
	}
	f := strings.Fields(e.Ran)
	if len(f) < 2 || f[0] != "node" {
		return p, fmt.Errorf("%s: started in an unknown way: %s", e.Server, e.Ran)
	}
	p.args = append([]string{filepath.Join(packages, "node_modules", filepath.FromSlash(f[1]))}, f[2:]...)
	if offline {
		// A network of its own with nothing in it but the machine itself.
		p.args = append([]string{"-rn", "--", "sh", "-c", `ip link set lo up; exec "$@"`, "sh", p.path}, p.args...)
		p.path = "unshare"
	}
	return p, nil
}

// canIsolate is whether a program can be started without a network.
func canIsolate(ctx context.Context) bool {
	return exec.CommandContext(ctx, "unshare", "-rn", "--", "sh", "-c", "ip link set lo up").Run() == nil
}

// install brings the package of e into dir, unless it is there. Nothing of it
// runs before the server does, but for the building of native modules that it wants.
func install(ctx context.Context, e entry, dir string) (time.Duration, error) {
	stamp := filepath.Join(dir, ".installed")
	if text, err := os.ReadFile(stamp); err == nil && string(text) == e.Version { // #nosec G304 -- our own
		return 0, nil
	}
	start := time.Now()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", // #nosec G204 -- a package of the catalog
		"--no-progress", "--loglevel=error", "--no-save", e.Package+"@"+e.Version)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("npm install: %w: %s", err, short(string(out)))
	}
	return time.Since(start), os.WriteFile(stamp, []byte(e.Version), 0o600)
}

// lacksNative reports whether a server says that it ends for want of a native module.
func lacksNative(err error) bool {
	return err != nil && strings.Contains(err.Error(), "bindings file")
}

// native builds the native modules among the packages in dir that have none built yet, from
// their source, with the headers that come with the lab's Node.js. Their authors have them
// downloaded by scripts of the installation, which are not run. The error is that none could be built.
func native(ctx context.Context, lab *conformance.Lab, dir string, offline bool) error {
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", "*", "binding.gyp"))
	if err != nil {
		return err
	}
	errs, built := []error{}, 0
	for _, gyp := range found {
		if isBuilt(filepath.Dir(gyp)) {
			continue
		}
		name := filepath.Base(filepath.Dir(gyp))
		args := []string{"npm", "rebuild", "--prefix", dir, "--ignore-scripts=false", "--no-audit", "--loglevel=error", name}
		if offline {
			args = append([]string{"unshare", "-rn", "--"}, args...)
		}
		cmd := exec.CommandContext(ctx, args[0], args[1:]...) // #nosec G204 -- packages of the catalog
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(lab.Node)+string(os.PathListSeparator)+os.Getenv("PATH"),
			"npm_config_nodedir="+filepath.Dir(filepath.Dir(lab.Node)), "npm_config_build_from_source=true")
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("npm rebuild %s: %w: %s", name, err, short(string(out))))
			continue
		}
		built++
	}
	if built > 0 {
		return nil // the server says what it still lacks
	}
	return errors.Join(errs...)
}

// isBuilt reports whether the folder of a native module has what its source makes, or a
// build that came with it.
func isBuilt(dir string) bool {
	for _, pattern := range []string{"build/Release/*.node", "prebuilds/*/*.node", "prebuilds/*.node", "bin/*/*.node"} {
		if found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern))); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// short returns the head of a text on one line.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200]) + "…"
	}
	return s
}
