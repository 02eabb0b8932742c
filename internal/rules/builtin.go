package rules

import (
	"encoding/json"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// BuiltIn returns the rules that hold unless the operator switches them off.
//
// huggingface keeps the answers of public benchmarks out of a run: they lie in
// the data sets of Hugging Face, and its spaces show them. Models, papers, docs
// and the blog stay open. Beside the pages it covers the programming interface,
// the server of data set rows, the old layout of the file store that names data
// sets, the hosts on which spaces run, the well-known mirror, and the scheme hf:
// of data frame libraries. The newer file stores (cdn-lfs-us-1 and the like) hold
// models too and name nothing in their paths; a tool gets there only by a redirect
// from a page that is refused.
func BuiltIn() []Rule {
	hosts := []string{"*.huggingface.co", "*.hf.co", "*.hf-mirror.com"}
	paths := []string{
		"/datasets", "/spaces", "/api/datasets", "/api/spaces",
		"/api/resolve-cache/datasets", "/api/resolve-cache/spaces",
	}
	addresses := []string{
		"*.hf.space", "*.datasets-server.huggingface.co", "*.datasets-server.hf.co",
		"hf://datasets", "hf://spaces",
	}
	for _, h := range hosts {
		for _, p := range paths {
			addresses = append(addresses, h+p)
		}
	}
	return []Rule{{
		Name:      "huggingface",
		Addresses: addresses,
		Refusal: "Data sets and spaces of Hugging Face hold the answers to public benchmarks, so they are no source here, " +
			"on mirrors and in archives neither. Use other sources, and reason from those.",
	}}
}

// DefaultSearchTools returns the tools whose answers are lists of links.
func DefaultSearchTools() []tool.ID { return searchTools }

var searchTools = []tool.ID{
	{Server: "*", Name: "*[sS]earch*"},
	{Server: "*", Name: "*SEARCH*"},
	{Server: "*", Name: "*crawl*"}, // lists of pages, each with its address
	{Server: "*", Name: "*_map"},
}

// fetchers are words in the names of tools that reach an address which they are
// given: readers of pages and files, browsers, downloads into a sandbox, and
// whatever runs programs or commands that may.
var fetchers = []string{
	"scrape", "crawl", "fetch", "http", "url", "curl", "wget", "download", "upload_from",
	"browser", "browse", "navigate", "website", "webpage", "web_page", "open_page", "visit", "goto",
	"read_file", "markdown", "extract", "transcribe", "screenshot", "send_request", "make_request",
	"python", "javascript", "run_code", "runcode", "command", "execute", "exec_", "shell", "bash",
	"terminal", "sandbox", "code_interpreter", "notebook", "clone",
}

// fetches tells whether a tool fetches: by its name, or because it takes an
// address as an argument.
func fetches(t *tool.Tool) bool {
	name := strings.ToLower(t.Name)
	for _, word := range fetchers {
		if strings.Contains(name, word) {
			return true
		}
	}
	var schema any
	if len(t.Schema) == 0 || json.Unmarshal(t.Schema, &schema) != nil {
		return false
	}
	return takesAddress(schema, maxDepth)
}

// takesAddress tells whether a schema has a property for an address.
func takesAddress(schema any, depth int) bool {
	if depth == 0 {
		return false
	}
	switch v := schema.(type) {
	case []any:
		for _, item := range v {
			if takesAddress(item, depth-1) {
				return true
			}
		}
	case map[string]any:
		if format, _ := v["format"].(string); format == "uri" || format == "iri" || format == "url" {
			return true
		}
		properties, _ := v["properties"].(map[string]any)
		for name := range properties {
			if isAddressKey(name) {
				return true
			}
		}
		for _, item := range v {
			if takesAddress(item, depth-1) {
				return true
			}
		}
	}
	return false
}

func isAddressKey(name string) bool {
	switch name = plainKey(name); name {
	case "link", "links", "href", "hrefs", "website", "webpage":
		return true
	}
	for _, word := range []string{"url", "urls", "uri", "uris"} {
		if strings.HasSuffix(name, word) {
			return true
		}
	}
	return strings.HasPrefix(name, "url")
}

// plainKey folds the spellings of a key into one: final_url, finalURL, Final-Url.
func plainKey(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}
