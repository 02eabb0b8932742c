package arch_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tenon-mcp/tenon/internal/arch"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

var update = flag.Bool("update", false, "write what was found as what is wanted")

func TestRepository(t *testing.T) {
	root := testenv.Root(t)
	tree, err := arch.Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range arch.Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			for _, f := range rule.Check(tree) {
				t.Error(f)
			}
		})
	}
	t.Run("linked", func(t *testing.T) {
		found, err := arch.Linked(tree, func(dir string) ([]string, error) {
			cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+dir)
			cmd.Dir = root
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			return strings.Fields(string(out)), err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			t.Error(f)
		}
	})
}

// Every rule is seen to fail: testdata/RULE.txtar holds a small repository with
// planted faults beside what is right, and in the file "want" what the rule
// must find.
func TestPlantedFaults(t *testing.T) {
	for _, rule := range arch.Rules() {
		t.Run(rule.Name, func(t *testing.T) { planted(t, rule) })
	}
	t.Run("linked", func(t *testing.T) {
		planted(t, arch.Rule{Name: "linked", Check: func(tree *arch.Tree) []arch.Finding {
			found, err := arch.Linked(tree, func(string) ([]string, error) {
				return []string{"fmt", "example.com/heavy/client", "example.com/heavyweight"}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return found
		}})
	})
}

func planted(t *testing.T, rule arch.Rule) {
	name := filepath.Join("testdata", rule.Name+".txtar")
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatalf("no planted fault for this rule: %v", err)
	}
	for i := range archive.Files { // a planted name is parted, so that the fixture does not have it
		archive.Files[i].Data = bytes.ReplaceAll(archive.Files[i].Data, []byte("<>"), nil)
	}
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
	if i < 0 {
		t.Fatalf("%s has no file want", name)
	}
	fsys := fstest.MapFS{}
	for _, f := range archive.Files {
		fsys[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	delete(fsys, "want")
	tree, err := arch.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, f := range rule.Check(tree) {
		if f.Fix == "" {
			t.Errorf("no fix in %v", f)
		}
		got.WriteString(f.Where + ": " + f.What + "\n")
	}
	if got.Len() == 0 {
		t.Fatalf("the rule found nothing in %s", name)
	}
	if *update {
		archive.Files[i].Data = []byte(got.String())
		if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(archive.Files[i].Data), got.String()); diff != "" {
		t.Errorf("%s: findings (-want +got):\n%s", name, diff)
	}
}
