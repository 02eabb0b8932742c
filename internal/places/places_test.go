package places_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenon-mcp/tenon/internal/places"
)

// TestPlaces come and go, and lead to what they led to at first.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	first, second, link := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "link")
	p, err := places.New([]string{link, second}, filepath.EvalSymlinks, func(path string) error {
		_, err := os.Stat(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	look := func(want, absent []string) {
		t.Helper()
		there, missing := p.Look()
		var gone []string
		for _, m := range missing {
			gone = append(gone, m.Path)
			if m.Err == nil {
				t.Errorf("%s is missing, and nothing says why", m.Path)
			}
		}
		for i, path := range want {
			if resolved, err := filepath.EvalSymlinks(path); err == nil {
				want[i] = resolved
			}
		}
		if !slices.Equal(there, want) || !slices.Equal(gone, absent) {
			t.Errorf("there %q, missing %q; want %q and %q", there, gone, want, absent)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Skip(err) // a system without links
		}
	}
	look(nil, []string{link, second})
	must(os.Mkdir(first, 0o700))
	must(os.Symlink(first, link))
	look([]string{first}, []string{second})
	must(os.Mkdir(second, 0o700))
	must(os.Remove(link))
	must(os.Symlink(second, link))
	look([]string{first, second}, nil)
	must(os.Remove(first))
	look([]string{second}, []string{link})
}
