package catalog_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/tool"
)

// TestReader: of the tools that only read, the one that speaks of the same things
// can tell what a write has done.
func TestReader(t *testing.T) {
	for _, c := range []struct {
		tool    string
		readers []string
		want    string
	}{
		{"create_issue", []string{"list_projects", "search_issues", "get_issue", "get_issue_comments"}, "get_issue"},
		{"write_file", []string{"list_directory", "read_multiple_files", "read_file", "get_file_info"}, "read_file"},
		{"createEntities", []string{"read_graph", "search-entity"}, "search-entity"},
		{"add_category", []string{"categories_list"}, "categories_list"},
		{"docker_restart", []string{"docker_ps", "docker_status"}, "docker_status"},
		{"make_batch", []string{"get_match", "list_batches"}, "list_batches"},
		{"t", []string{"get_thing"}, ""},
		{"send_mail", nil, ""},
	} {
		t.Run(c.tool, func(t *testing.T) {
			writes := map[string]bool{c.tool: true, "get_" + c.tool: true} // not declared to read
			cat, err := catalog.New(catalog.Options{Servers: []string{"s"}, Meta: func(t *tool.Tool) tool.Meta {
				return tool.Meta{ReadOnly: !writes[t.Name]}
			}})
			if err != nil {
				t.Fatal(err)
			}
			var tools []tool.Tool
			for _, name := range append(c.readers, c.tool, "get_"+c.tool) {
				x, err := catalog.Parse([]byte(`{"name":"` + name + `","inputSchema":{"type":"object"}}`))
				if err != nil {
					t.Fatal(err)
				}
				tools = append(tools, x)
			}
			cat.Set("s", tools)
			if got := cat.Snapshot().Reader(&tool.Tool{ID: tool.ID{Server: "s", Name: c.tool}}); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
