package system_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenon-mcp/tenon/servers/system"
)

func TestPressure(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, fstest.MapFS{
		"cpu": {Data: []byte("some avg10=1.50 avg60=0.20 avg300=0.03 total=12345\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")},
		"io":  {Data: []byte("garbage\nsome avg10=9.00\n")},
	}); err != nil {
		t.Fatal(err)
	}
	got := system.Pressure(dir)
	mustMatch(t, got, `^\| cpu \| some \| 1\.50 \| 0\.20 \| 0\.03 \|$`, `^\| cpu \| full \| 0\.00 `)
	if strings.Contains(got, "io |") {
		t.Errorf("garbage was read:\n%s", got)
	}
	if got := system.Pressure(t.TempDir()); !strings.Contains(got, "no pressure stall information") {
		t.Errorf("got %q", got)
	}
}
