package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/testenv"
)

// example finds the configurations in a document.
var example = regexp.MustCompile("(?ms)^```yaml[^\n]*\n(version: 1\n.*?)^```$")

// fromNPM finds the servers of examples that are run.
var fromNPM = regexp.MustCompile(`\{command: mcp-server-([a-z]+)`)

// TestExamplesNameWhatTheyHave: what a reader copies out of a document names no server and
// no tool that is not there, but for the example of just that.
func TestExamplesNameWhatTheyHave(t *testing.T) {
	root := testenv.Root(t)
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, path := range append(documents, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fromNPM.FindAllSubmatch(text, -1) {
			if !bytes.Contains(text, append([]byte("npm install --global @modelcontextprotocol/server-"), m[1]...)) {
				t.Errorf("%s does not say where %s comes from", filepath.Base(path), m[0])
			}
		}
		for _, block := range example.FindAllSubmatch(text, -1) {
			var out bytes.Buffer
			c := command{args: []string{"check", "-o", "json", "--config", configFile(t, string(block[1]))}, stdout: &out}
			c.run(t.Context(), t)
			var report struct{ Broken, Warnings []struct{ Text, Hint string } }
			if err := json.Unmarshal(out.Bytes(), &report); err != nil {
				t.Fatalf("%s: %v: %s", path, err, out.String())
			}
			looked++
			for _, w := range append(report.Broken, report.Warnings...) {
				if strings.Contains(w.Text, "names no ") && !strings.Contains(w.Text, "get_curent_time") {
					t.Errorf("%s: %s (%s) in\n%s", filepath.Base(path), w.Text, w.Hint, block[1])
				}
			}
		}
	}
	if looked < 20 {
		t.Errorf("%d examples were found", looked)
	}
}
