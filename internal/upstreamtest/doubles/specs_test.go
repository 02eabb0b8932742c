package doubles_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
)

// TestWaybackIndex holds the double of the index of archived pages to what its project
// says of it: columns in their order, forms that its own example has too, and parameters.
func TestWaybackIndex(t *testing.T) {
	b, err := os.ReadFile("testdata/specs/wayback-cdx.json")
	var spec struct {
		Parameters, Columns []string
		Forms               map[string]string
		Example             [][]string
	}
	if err == nil {
		err = json.Unmarshal(b, &spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, rows [][]string) {
		t.Helper()
		if len(rows) < 2 || !slices.Equal(rows[0], spec.Columns) {
			t.Fatalf("%s: %q, want the columns %q and rows", name, rows, spec.Columns)
		}
		for _, row := range rows[1:] {
			for i, column := range spec.Columns {
				if len(row) != len(spec.Columns) || !regexp.MustCompile(spec.Forms[column]).MatchString(row[i]) {
					t.Errorf("%s: %q has no %s of the form %s", name, row, column, spec.Forms[column])
				}
			}
		}
	}
	check("the example", spec.Example)
	d := doubles.Wayback(doubles.NewWeb())
	const index = "/cdx/search/cdx?url=http%3A%2F%2Fharbour.example%2Flighthouse"
	_, body := ask(t, d, http.MethodGet, index+"&output=json&gzip=false", "", nil)
	var rows [][]string
	if err := json.Unmarshal([]byte(body), &rows); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	check("the double", rows)
	if resp, _ := ask(t, d, http.MethodGet, index+"&colour=red", "", nil); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a parameter that nobody knows: %d", resp.StatusCode)
	}
}
