package interpolate_test

import (
	"slices"
	"testing"

	"github.com/tenon-mcp/tenon/internal/interpolate"
)

var env = map[string]string{"TOKEN": "t0ken", "EMPTY": "", "HOME": "/home/me", "NESTED": "${env:TOKEN}"}

func lookup(name string) (string, bool) {
	v, ok := env[name]
	return v, ok
}

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		in, want string
		faults   []string // where they are
		found    []string
	}{
		{in: "plain", want: "plain"},
		{in: "Bearer ${env:TOKEN}!", want: "Bearer t0ken!", found: []string{"t0ken"}},
		{in: "${oc.env:TOKEN}", want: "t0ken", found: []string{"t0ken"}},
		{in: "${env:NONE,other}", want: "other"},
		{in: "${env:NONE,${env:TOKEN}}", want: "t0ken", found: []string{"t0ken"}},
		{in: "${env:HOME}/x", want: "/home/me/x"}, // no secret
		{in: "${env:NESTED}", want: "${env:TOKEN}", found: []string{"${env:TOKEN}"}},
		{in: "$${env:TOKEN}", want: "${env:TOKEN}"},
		{in: "a$b", want: "a$b"},
		{in: "${env:NONE}", faults: []string{"${env:NONE"}},
		{in: "x${TOKEN}y", want: "xy", faults: []string{"${TOKEN"}},
		{in: "${env:}", faults: []string{"${env:"}},
		{in: "x${env:TOKEN", want: "x", faults: []string{"${"}},
		{in: "${env:A}${env:B}", faults: []string{"${env:A", "${env:B"}},
	} {
		var found []string
		x := interpolate.Expander{Lookup: lookup, Found: func(_, v string) { found = append(found, v) }}
		got, faults := x.Expand(c.in)
		var places []string
		for _, f := range faults {
			places = append(places, f.At)
			if f.Text == "" {
				t.Errorf("%q: a fault without a text", c.in)
			}
		}
		if got != c.want || !slices.Equal(places, c.faults) || !slices.Equal(found, c.found) {
			t.Errorf("%q gave %q, faults at %q, found %q; want %q, %q, %q", c.in, got, places, found, c.want, c.faults, c.found)
		}
	}
}

func TestMandatory(t *testing.T) {
	x := interpolate.Expander{Lookup: lookup, Mandatory: true}
	if _, faults := x.Expand("???"); len(faults) != 1 {
		t.Errorf("faults %v", faults)
	}
	if got, faults := (&interpolate.Expander{Lookup: lookup}).Expand("???"); got != "???" || len(faults) > 0 {
		t.Errorf("got %q, %v", got, faults)
	}
}

// TestClients: in the files of desktop clients, whose rules are their own.
func TestClients(t *testing.T) {
	for in, want := range map[string]string{
		"${workspaceFolder}/x": "/w/x",
		"${env:TOKEN}":         "t0ken",
		"${TOKEN}":             "t0ken",
		"${EMPTY:-other}":      "other",
		"${NONE:-other}":       "other",
		"${unclosed":           "${unclosed",
	} {
		x := interpolate.Expander{Lookup: lookup, Vars: map[string]string{"workspaceFolder": "/w"}}
		if got, faults := x.Expand(in); got != want || len(faults) > 0 {
			t.Errorf("%q gave %q, %v; want %q", in, got, faults, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("a${env:TOKEN}b${oc.env:X,${Y}}")
	f.Add("$${${${env:")
	f.Fuzz(func(t *testing.T, in string) {
		x := interpolate.Expander{Lookup: lookup}
		x.Expand(in)
		x.Vars = map[string]string{}
		x.Expand(in)
	})
}
