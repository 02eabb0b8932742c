package version_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/version"
)

func TestVersion(t *testing.T) {
	v := version.String()
	if v == "" || strings.ContainsAny(v, " ()/") {
		t.Errorf("%q cannot stand in a User-Agent", v)
	}
	if got, want := version.Agent("docker"), "Tenon/"+v+" (docker)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
