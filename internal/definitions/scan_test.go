package definitions_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenon-mcp/tenon/internal/definitions"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

// A poisoned is a definition with something hidden in it.
type poisoned struct {
	ID, Class, Instructions string
	Tool                    json.RawMessage
	Pool                    map[string][]string
}

func eachPoisoned(t testing.TB, visit func(p poisoned)) {
	t.Helper()
	b, err := os.ReadFile("testdata/poisoned.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var p poisoned
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatal(err)
		}
		visit(p)
	}
}

func TestRecall(t *testing.T) {
	total, found := 0, 0
	eachPoisoned(t, func(p poisoned) {
		total++
		s := definitions.NewScanner(p.Pool)
		fs := append(s.Tool("local", p.Tool, nil), s.Instructions("local", p.Instructions)...)
		serious := ""
		for _, f := range fs {
			if f.Serious() {
				serious += " " + f.Rule
			}
		}
		if serious != "" {
			found++
		} else {
			t.Logf("missed %s: %s %v", p.ID, p.Tool, fs)
		}
	})
	t.Logf("found %d of %d", found, total)
}

type realServer struct {
	Server     string
	Initialize struct{ Instructions string }
	Tools      []json.RawMessage
}

func realServers(t testing.TB) []realServer {
	files, err := filepath.Glob(filepath.Join(testenv.Corpus(t, "catalog"), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out []realServer
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var s realServer
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func TestFalseAlarms(t *testing.T) {
	pool := map[string][]string{}
	servers := realServers(t)
	for _, s := range servers {
		for _, raw := range s.Tools {
			tl, err := definitions.New(raw, nil)
			if err != nil {
				t.Fatal(err)
			}
			pool[s.Server] = append(pool[s.Server], tl.Name)
		}
	}
	sc := definitions.NewScanner(pool)
	tools, alarmed, infos := 0, 0, 0
	for _, s := range servers {
		for _, f := range sc.Instructions(s.Server, s.Initialize.Instructions) {
			t.Logf("%s instructions %s %s %q %s", s.Server, f.Severity, f.Rule, f.Text, f.Why)
		}
		for _, raw := range s.Tools {
			tools++
			bad := false
			for _, f := range sc.Tool(s.Server, raw, nil) {
				if f.Serious() {
					bad = true
				} else {
					infos++
				}
				t.Logf("%s/%s %s %s %s %q %s", s.Server, f.Tool, f.Severity, f.Rule, f.Place, f.Text, f.Why)
			}
			if bad {
				alarmed++
			}
		}
	}
	t.Logf("%d of %d tools (%.2f %%), %d infos", alarmed, tools, 100*float64(alarmed)/float64(tools), infos)
}

func TestFalseAlarmsMore(t *testing.T) {
	for _, set := range []string{"real", "livemcp", "stabletoolbench", "bfcl", "metatool", "sealtools"} {
		f, err := os.Open(testenv.Corpus(t, "retrieval", set, "tools.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		sc := definitions.NewScanner(nil)
		tools, alarmed := 0, 0
		r := bufio.NewReaderSize(f, 1<<20)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				break
			}
			var in struct {
				Server, Name, Title, Description string
				Schema                           json.RawMessage `json:"input_schema"`
			}
			if err := json.Unmarshal(line, &in); err != nil {
				t.Fatal(err)
			}
			raw, _ := json.Marshal(map[string]any{"name": in.Name, "title": in.Title, "description": in.Description, "inputSchema": in.Schema})
			tools++
			bad := false
			for _, f := range sc.Tool(in.Server, raw, nil) {
				if f.Serious() {
					bad = true
					t.Logf("%s/%s %s %s %s %q", in.Server, f.Tool, f.Severity, f.Rule, f.Place, f.Text)
				}
			}
			if bad {
				alarmed++
			}
		}
		_ = f.Close()
		t.Logf("%s: %d of %d", set, alarmed, tools)
		fmt.Println(set, alarmed, tools)
	}
}
