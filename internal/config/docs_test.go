package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/config"
)

const manual = "../../docs/configuration.md"

// TestManualExamples loads the examples of the manual: a block with file=NAME is
// written, and one with the word load is loaded then.
func TestManualExamples(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	dir, loaded := t.TempDir(), 0
	for _, block := range regexp.MustCompile("(?ms)^```\\w+ file=(\\S+)( load)?\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		path := filepath.Join(dir, filepath.FromSlash(block[1]))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(block[3]), 0o600); err != nil {
			t.Fatal(err)
		}
		if block[2] == "" {
			continue
		}
		loaded++
		cfg, err := load(t, path)
		if err != nil {
			t.Errorf("%s\n%v", block[3], err)
			continue
		}
		if len(cfg.Broken)+len(cfg.Warnings) > 0 {
			t.Errorf("%s\n%v %v", block[3], cfg.Broken, cfg.Warnings)
		}
	}
	if loaded < 8 {
		t.Errorf("%d examples loaded, want all of them", loaded)
	}
}

// TestManualKeys: the manual names each key of each section, and no other.
func TestManualKeys(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	// A key that nobody knows makes Load name those that it knows.
	const unknown = "qqqqqqqqqqqqqqqqqqqqqqqq: 1"
	tests := map[string]string{
		"Top level":     "version: 1\n" + unknown + "\n",
		"Servers":       "version: 1\nservers: {a: {command: x, " + unknown + "}}\n",
		"Logging in":    "version: 1\nservers: {a: {url: \"https://a.example\", auth: {" + unknown + "}}}\n",
		"Tools":         "version: 1\nservers: {a: {command: x}}\ntools: {a/b: {" + unknown + "}}\n",
		"Content rules": "version: 1\ncontent_rules: {a: {addresses: [a.example], " + unknown + "}}\n",
		"Auth":          "version: 1\nauth: {" + unknown + "}\n",
		"Gateway":       "version: 1\ngateway: {" + unknown + "}\n",
		"Secrets":       "version: 1\nsecrets: {file: x, " + unknown + "}\n",
		"Redaction":     "version: 1\npolicy: {redact: {" + unknown + "}}\n",
		"Lazy":          "version: 1\nlazy: {mode: on, " + unknown + "}\n",
		"Sampling":      "version: 1\nsampling: {model: {base_url: \"https://a.example\", name: x}, servers: [], " + unknown + "}\n",
		"Store":         "version: 1\nstore: {" + unknown + "}\n",
		"Skills":        "version: 1\nskills: {" + unknown + "}\n",
		"Definitions":   "version: 1\npolicy: {definitions: {" + unknown + "}}\n",
		"Policy":        "version: 1\npolicy: {" + unknown + "}\n",
		"Approvals":     "version: 1\npolicy: {approvals: {" + unknown + "}}\n",
		"Limits":        "version: 1\npolicy: {limits: [{per: all, calls: 1, " + unknown + "}]}\n",
	}
	tests["Identity provider"] = "version: 1\nauth: {oidc: {issuer: \"https://id.example.com\", audience: x, " + unknown + "}}\n"
	for heading, yaml := range tests {
		t.Run(heading, func(t *testing.T) {
			cfg, err := load(t, filepath.Join(write(t, map[string]string{"tenon.yaml": yaml}), "tenon.yaml"))
			var hint string
			if e, ok := errors.AsType[*config.Error](err); ok {
				hint = e.Problems[0].Hint
			} else if len(cfg.Broken) > 0 {
				hint = cfg.Broken[0].Hint
			}
			list, ok := strings.CutPrefix(hint, "known here: ")
			if !ok {
				t.Fatalf("the hint is %q, want the known keys", hint)
			}
			_, section, ok := strings.Cut(string(text), "\n## "+heading+"\n")
			if !ok {
				t.Fatalf("no section %q in the manual", heading)
			}
			section, _, _ = strings.Cut(section, "\n## ")
			var documented []string
			for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(section, -1) {
				documented = append(documented, row[1])
			}
			slices.Sort(documented)
			if diff := cmp.Diff(strings.Split(list, ", "), documented); diff != "" {
				t.Errorf("keys (-known to Load, +in the manual):\n%s", diff)
			}
		})
	}
}
