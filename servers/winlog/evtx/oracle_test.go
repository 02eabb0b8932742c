package evtx_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/winlog/evtx/evtxtest"
)

// vectors returns the sample logs that lie beside the corpus, or skips.
func vectors(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(filepath.Dir(testenv.Corpus(t)), "vectors", "evtx", "*.evtx"))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Skip("there are no sample logs beside the corpus")
	}
	return list
}

// TestAgainstLibevtx compares with the program evtxexport: each element, attribute and
// text of each event, but for forms that are a matter of taste (how many digits a
// fraction of a second and a hexadecimal number have).
func TestAgainstLibevtx(t *testing.T) {
	export := testenv.Program(t, "evtxexport")
	for _, name := range samples(t) {
		t.Run(filepath.Base(name), func(t *testing.T) { compare(t, export, name) })
	}
}

// TestVectorsAgainstLibevtx does so with larger samples.
func TestVectorsAgainstLibevtx(t *testing.T) {
	list := vectors(t)
	export := testenv.Program(t, "evtxexport")
	for _, name := range list {
		t.Run(filepath.Base(name), func(t *testing.T) { compare(t, export, name) })
	}
}

func samples(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join("..", "testdata", "logs", "*.evtx"))
	if err != nil || len(list) == 0 {
		t.Fatal("no samples", err)
	}
	made := filepath.Join(t.TempDir(), "made.evtx")
	log := evtxtest.Log(evtxtest.Event{Time: when, Provider: "Prövider", EventID: 7, Channel: "System", Computer: "h", Data: []string{"a", "1", "b", "<&>"}})
	if err := os.WriteFile(made, log, 0o600); err != nil {
		t.Fatal(err)
	}
	return append(list, made)
}

func compare(t *testing.T, export, name string) {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), export, "-f", "xml", name)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if strings.Contains(errs.String(), "Unable to export") {
		t.Logf("evtxexport cannot read it: %.200s", errs.String())
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	ours, report := read(t, log)
	var theirs []string
	for _, m := range regexp.MustCompile(`(?s)<Event[ >].*?</Event>`).FindAllString(string(out), -1) {
		theirs = append(theirs, canonical(t, m))
	}
	// It does not count a record that was not written to its end.
	if n := len(ours) - len(theirs); n != 0 && (n != 1 || report.BadRecords != 1) {
		t.Fatalf("we have %d events, they %d; %s", len(ours), len(theirs), report)
	}
	for i, want := range theirs {
		if diff := cmp.Diff(want, canonical(t, ours[i].XML())); diff != "" {
			t.Errorf("event %d: %s", i, diff)
		}
	}
}

// canonical returns one line for each element.
func canonical(t *testing.T, s string) string {
	t.Helper()
	fraction := regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7})\d*Z$`)
	number := regexp.MustCompile(`^0x0*([0-9a-f])`)
	value := func(s string) string {
		s = strings.TrimSpace(strings.ReplaceAll(s, "\r", ""))
		return number.ReplaceAllString(fraction.ReplaceAllString(s, "${1}Z"), "0x$1")
	}
	var b strings.Builder
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		token, err := d.Token()
		if err != nil {
			return b.String()
		}
		switch e := token.(type) {
		case xml.StartElement:
			fmt.Fprintf(&b, "\n%s", e.Name.Local)
			for _, a := range e.Attr {
				fmt.Fprintf(&b, " %s=%q", a.Name.Local, value(a.Value))
			}
		case xml.CharData:
			if v := value(string(e)); v != "" {
				fmt.Fprintf(&b, ": %q", v)
			}
		}
	}
}
