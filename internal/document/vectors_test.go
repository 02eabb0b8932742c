package document_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

// TestVectors converts real files of another project, and looks for the strings that
// it expects.
func TestVectors(t *testing.T) {
	list, err := os.ReadFile(testenv.Vectors(t, "documents", "vectors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(list, &file); err != nil {
		t.Fatal(err)
	}
	for _, v := range file.Vectors {
		t.Run(v.Group+"/"+v.Test+"/"+v.File, func(t *testing.T) { v.run(t) })
	}
}

type vector struct {
	Group    string     `json:"group"`
	Test     string     `json:"test"`
	File     string     `json:"file"`
	MIME     string     `json:"mimetype"`
	Charset  string     `json:"charset"`
	URL      string     `json:"url"`
	Include  []string   `json:"must_include"`
	Exclude  []string   `json:"must_not_include"`
	Match    []string   `json:"must_match"`
	Needs    string     `json:"needs"`
	OneOfAll [][]string `json:"must_include_any"`
	Options  struct {
		Keep bool `json:"keep_data_uris"`
	} `json:"options"`
}

func (v vector) run(t *testing.T) {
	src := read(t, testenv.Vectors(t, "documents", v.File))
	src.URL, src.MIME = v.URL, v.MIME
	if v.Charset != "" {
		src.MIME += "; charset=" + v.Charset
	}
	switch v.Group {
	case "error":
		refused(t, src, document.Unsupported)
		src.Name = strings.TrimSuffix(src.Name, filepath.Ext(src.Name)) + ".pptx"
		refused(t, src, document.Damaged)
		return
	case "speech":
		t.Skip("needs an engine that hears, which is no part of this package")
	case "llm":
		testenv.Program(t, "tesseract")
	}
	doc := convert(t, src, document.Request{MaxChars: -1, KeepDataURIs: v.Options.Keep})
	doc.Markdown = strings.ReplaceAll(doc.Markdown, `\`, "")
	if v.Group == "misc" || len(v.Match) > 0 {
		doc = convert(t, src, document.Request{MaxChars: -1})
	}
	holds(t, doc, v.Include...)
	holdsNot(t, doc, v.Exclude...)
	for _, m := range v.Match {
		if !regexp.MustCompile(m).MatchString(doc.Markdown) {
			t.Errorf("nothing matches %s in\n%.2000s", m, doc.Markdown)
		}
	}
}
