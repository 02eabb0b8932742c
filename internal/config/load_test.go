package config_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/config"
)

var update = flag.Bool("update", false, "rewrite the files that tests compare with")

// env is what the tests' files may interpolate.
var env = []string{
	"HOME=/home/ada", "TOKEN=token-from-environment", "EMPTY=", "PORT=8080", "WAIT=45s", "YES=true",
	"BAD=value-that-fits-nothing", "BREAK=two\nlines-of-a-value", "HOST=tools.example.com",
}

var bundled = []string{"system", "reading", "network", "docker"}

// load loads a file or folder below testdata, and returns the paths in it as the
// test's files write them.
func load(t *testing.T, path string) (*config.Config, error) {
	t.Helper()
	return config.Load(config.Source{
		Path: path, Env: env, Bundled: bundled, Rules: []string{"huggingface"},
		CheckAddress: func(pattern string) error {
			if strings.Contains(pattern, ":") {
				return errors.New("names a port")
			}
			return nil
		},
	})
}

// cases returns the paths below testdata/dir: files and folders, without those
// that hold what is wanted.
func cases(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(filepath.Join("testdata", dir))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range list {
		if ext := filepath.Ext(f.Name()); ext != ".want" && ext != ".golden" {
			paths = append(paths, filepath.Join("testdata", dir, f.Name()))
		}
	}
	if len(paths) == 0 {
		t.Fatalf("no files in testdata/%s", dir)
	}
	return paths
}

// golden compares got with a file beside the case.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("differs from %s (-want +got); -update rewrites it:\n%s", path, diff)
	}
}

// neutral makes a text the same on every machine.
func neutral(t *testing.T, text string) string {
	t.Helper()
	wd, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	text = strings.ReplaceAll(text, strings.ReplaceAll(wd, `\`, `\\`), "WD")
	return strings.ReplaceAll(strings.ReplaceAll(text, `\\`, "/"), `\`, "/")
}

// TestBad loads files with mistakes, one mistake a file: every message, its
// place and its excerpt stand in the file beside it.
func TestBad(t *testing.T) {
	for _, path := range cases(t, "bad") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			cfg, err := load(t, path)
			var b strings.Builder
			show := func(what string, problems []config.Problem) {
				for _, p := range problems {
					fmt.Fprintf(&b, "%s: %s\n", what, p)
					if p.Excerpt != "" {
						fmt.Fprintln(&b, p.Excerpt)
					}
				}
			}
			if e, ok := errors.AsType[*config.Error](err); ok {
				show("error", e.Problems)
			} else if err != nil {
				t.Fatalf("error is a %T, want *config.Error", err)
			} else {
				show("broken", cfg.Broken)
				show("warning", cfg.Warnings)
			}
			if b.Len() == 0 {
				t.Fatal("nothing is wrong with this file")
			}
			golden(t, strings.TrimSuffix(path, filepath.Ext(path))+".want", neutral(t, b.String()))
		})
	}
}

// TestGood loads files without mistakes and compares the whole value.
func TestGood(t *testing.T) {
	for _, path := range cases(t, "good") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			cfg, err := load(t, path)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range cfg.Broken {
				t.Errorf("broken: %s", p)
			}
			dump, err := json.MarshalIndent(cfg, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(path, filepath.Ext(path))+".golden", neutral(t, string(dump))+"\n")
		})
	}
}
