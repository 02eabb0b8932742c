package servers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/servers"
)

// TestDocs holds docs/servers.md and the table of tools in each README to the
// servers themselves. With -update it writes them.
func TestDocs(t *testing.T) {
	var page bytes.Buffer
	page.WriteString("# Bundled servers\n\nThis page is generated from the servers: `go test ./servers -update`.\n\n" +
		"`tenon server NAME` runs one of them as an MCP server of its own, on stdio, or with `--http` over HTTP.\n\n" +
		"| server | port | without a key | |\n| --- | --- | --- | --- |\n")
	for _, s := range servers.All() {
		keyless := "no"
		if s.Keyless {
			keyless = "yes"
		}
		fmt.Fprintf(&page, "| [%s](#%s) | %d | %s | %s |\n", s.Name, s.Name, s.Port, keyless, s.Summary)
	}
	for _, s := range servers.All() {
		tools := toolTable(t, s)
		also := ""
		if list := servers.Aliases(s.Name); len(list) > 0 {
			also = "\n\nConfigurations may also call it `" + strings.Join(list, "`, `") + "`."
		}
		fmt.Fprintf(&page, "\n## %s\n\n%s%s\n\n%s\n%s", s.Name, s.Summary, also, optionTable(t, s), tools)
		readme := filepath.Join(s.Name, "README.md")
		golden(t, readme, replaceTools(t, readme, tools))
	}
	golden(t, filepath.Join("..", "docs", "servers.md"), page.Bytes())
}

func replaceTools(t *testing.T, file, tools string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), "\r\n", "\n")
	for _, heading := range []string{"Name", "Description", "Configuration", "Tools", "Examples"} {
		if !strings.Contains(text, "\n## "+heading+"\n") {
			t.Errorf("%s has no section %s", file, heading)
		}
	}
	between := regexp.MustCompile(`(?s)(<!-- tools:[^\n]*-->\n).*(<!-- end tools -->)`)
	if !between.MatchString(text) {
		t.Fatalf("%s has no marks for the table of tools", file)
	}
	m := between.FindStringSubmatchIndex(text)
	return []byte(text[:m[3]] + "\n" + tools + "\n" + text[m[4]:])
}

func optionTable(t *testing.T, s servers.Server) string {
	t.Helper()
	options, err := s.Options()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| option | flag | type | |\n| --- | --- | --- | --- |\n")
	for _, o := range options {
		fmt.Fprintf(&b, "| `%s` | `--%s` | %s | %s |\n", o.Name, o.Flag(), o.Type, cell(o.Description))
	}
	return b.String()
}

func toolTable(t *testing.T, s servers.Server) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| tool | parameters | does | answer, at most |\n| --- | --- | --- | --- |\n")
	for _, tl := range listTools(t, s) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %d characters |\n", tl.Name, parameters(t, tl), cell(tl.Description), s.Meta[tl.Name].MaxResultChars)
	}
	return b.String()
}

func parameters(t *testing.T, tl *mcp.Tool) string {
	t.Helper()
	s := inputSchema(t, tl)
	required := map[string]bool{}
	for _, r := range s.Required {
		required[r] = true
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		switch {
		case required[name]:
			list = append(list, fmt.Sprintf("`%s` (required)", name))
		case p.Default != nil:
			list = append(list, fmt.Sprintf("`%s` = %s", name, p.Default))
		default:
			list = append(list, fmt.Sprintf("`%s`", name))
		}
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

func inputSchema(t *testing.T, tl *mcp.Tool) *jsonschema.Schema {
	t.Helper()
	b, err := json.Marshal(tl.InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// TestReadmeExamples runs the examples of each README. Those of a server that asks
// another one, that reach out into the network, that change something, or that name a directory or a service
// that this machine may not have, are only held to the schema of their tool.
func TestReadmeExamples(t *testing.T) {
	example := regexp.MustCompile(`(?m)^tenon call (\S+) (\S+)(?: --args '(.*)')?$`)
	for _, s := range servers.All() {
		b, err := os.ReadFile(filepath.Join(s.Name, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		shown := map[string]bool{}
		tools := map[string]*mcp.Tool{}
		for _, tl := range listTools(t, s) {
			tools[tl.Name] = tl
		}
		cs := connect(t, s, "")
		for _, m := range example.FindAllStringSubmatch(strings.ReplaceAll(string(b), "\r\n", "\n"), -1) {
			server, name, arguments := m[1], m[2], m[3]
			shown[name] = true
			tl := tools[name]
			if server != s.Name || tl == nil {
				t.Errorf("%s: example of an unknown tool: %s", s.Name, m[0])
				continue
			}
			if arguments == "" {
				arguments = "{}"
			}
			if !s.Keyless || !s.Meta[name].ReadOnly || s.Meta[name].SideEffect == "network" || strings.Contains(arguments, `"root"`) || name == "get_service_status" {
				checkArguments(t, tl, arguments)
				continue
			}
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
			if err != nil || res.IsError {
				t.Errorf("%s\n%v %+v", m[0], err, res)
				continue
			}
			checkAnswer(t, tl, res)
		}
		for name := range tools {
			if !shown[name] {
				t.Errorf("%s: README.md has no example of %s", s.Name, name)
			}
		}
	}
}

// checkAnswer holds the data of an answer to the schema of its tool.
func checkAnswer(t *testing.T, tl *mcp.Tool, res *mcp.CallToolResult) {
	t.Helper()
	b, err := json.Marshal(tl.OutputSchema)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(b, &schema); err != nil {
		t.Fatal(err)
	}
	r, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(res.StructuredContent); err != nil {
		t.Errorf("%s: the answer does not fit its schema: %v", tl.Name, err)
	}
}

func checkArguments(t *testing.T, tl *mcp.Tool, arguments string) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(arguments), &v); err != nil {
		t.Errorf("%s: %s: %v", tl.Name, arguments, err)
		return
	}
	r, err := inputSchema(t, tl).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(v); err != nil {
		t.Errorf("%s: %s: %v", tl.Name, arguments, err)
	}
}
