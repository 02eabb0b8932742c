package browser

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func fake(t *testing.T, dir, name string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestABrowserIsFound(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	chrome, chromium := fake(t, first, "google-chrome"), fake(t, second, "chromium")
	env := func(name string) string {
		if name == "PATH" {
			return strings.Join([]string{".", "", first, second}, string(filepath.ListSeparator))
		}
		return ""
	}
	for _, tt := range []struct{ executable, want string }{{"", chromium}, {chrome, chrome}} {
		c, err := Options{Executable: tt.executable, Headless: true}.Command(env)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"-y", Package, "--isolated", "--executable-path", tt.want, "--headless", "--no-sandbox"}
		if c.Path != "npx" || !slices.Equal(c.Args, want) || c.Env["TENON_BROWSER"] != tt.want {
			t.Errorf("%+v, want %v", c, want)
		}
		if strings.ContainsAny(c.Env["NODE_OPTIONS"], " \n") {
			t.Error("NODE_OPTIONS is more than one option")
		}
	}
	if _, err := (Options{Executable: filepath.Join(first, "none")}).Command(env); err == nil {
		t.Error("a browser that is not there was taken")
	}
	if err := os.Remove(chromium); err != nil {
		t.Fatal(err)
	}
	if c, err := (Options{}).Command(env); err != nil || c.Env["TENON_BROWSER"] != chrome {
		t.Errorf("the next best: %+v %v", c, err)
	}
}

func TestTheSandboxIsNotGivenUpSilently(t *testing.T) {
	c, err := Options{Executable: fake(t, t.TempDir(), "chromium"), Sandbox: true}.Command(os.Getenv)
	if os.Geteuid() == 0 {
		if !errors.Is(err, ErrRoot) {
			t.Errorf("as root: %v", err)
		}
		return
	}
	if err != nil || !slices.Contains(c.Args, "--sandbox") || slices.Contains(c.Args, "--no-sandbox") {
		t.Errorf("%v %v", c.Args, err)
	}
}

func TestPlacesOfEachSystem(t *testing.T) {
	for goos, want := range map[string]string{
		"linux":   "/usr/bin/chromium",
		"darwin":  filepath.Join("/Applications", "Google Chrome.app", "Contents", "MacOS", "Google Chrome"),
		"windows": filepath.Join("root", "Google", "Chrome", "Application", "chrome.exe"),
	} {
		if got := candidates(goos, func(string) string { return "root" }); !slices.Contains(got, want) {
			t.Errorf("%s: %v has no %s", goos, got, want)
		}
	}
}

func TestWhatRunsCodeIsHeldForTheOperator(t *testing.T) {
	m := Meta()
	if meta := m[RunCode]; !meta.Destructive || meta.ReadOnly {
		t.Errorf("%+v", meta)
	}
	for name, meta := range m {
		if !meta.Registered || meta.SideEffect == "" || meta.RiskLevel == "" || meta.MaxResultChars == 0 || !strings.HasPrefix(name, "browser_") {
			t.Errorf("%s: %+v", name, meta)
		}
	}
}
