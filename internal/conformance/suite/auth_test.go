package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWhatTheSuiteRequiresOfLoginsIsRun: the scenarios that are run as required are those
// that the pinned suite itself has on its list, as many as the goal says.
func TestWhatTheSuiteRequiresOfLoginsIsRun(t *testing.T) {
	required := regexp.MustCompile(`(?m)^  - (auth/\S+)`) // what is not scored is written in another way
	for _, c := range []cell{legacyAuth, modernAuth} {
		path := filepath.Join("..", "..", "..", ".cache", "conformance", "node_modules", "@modelcontextprotocol", "conformance", "requirements", c.revision+".yaml")
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("the conformance suite is not installed: tools/npm.sh conformance")
		}
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, m := range required.FindAllStringSubmatch(string(text), -1) {
			want = append(want, m[1])
		}
		for _, r := range authRuns(c) {
			if r.required {
				got = append(got, r.scenario)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the suite's list is not ours (-suite +ours):\n%s", c.revision, diff)
		}
		if len(got) != c.goal {
			t.Errorf("%s: the goal is %d of %d", c.revision, c.goal, len(got))
		}
	}
}

// TestTheOperatorWritesDownWhatTheSuiteGives: the entry of a scenario has the client that
// the suite made for it, and nothing where it made none.
func TestTheOperatorWritesDownWhatTheSuiteGives(t *testing.T) {
	for _, c := range []struct {
		scenario, given string
		want            map[string]any
	}{
		{"auth/metadata-default", "", map[string]any{}},
		{"auth/pre-registration", `{"client_id":"me","client_secret":"not-a-real-key-000"}`, map[string]any{"client_id": "me", "client_secret": "not-a-real-key-000"}},
		{
			"auth/client-credentials-basic", `{"client_id":"me","client_secret":"not-a-real-key-000"}`,
			map[string]any{"flow": "client_credentials", "client_id": "me", "client_secret": "not-a-real-key-000"},
		},
		{"auth/basic-cimd", `{}`, map[string]any{"client_id": "https://conformance-test.local/client-metadata.json"}},
	} {
		got, err := authOf(c.scenario, c.given)
		if err != nil {
			t.Errorf("%s: %v", c.scenario, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.scenario, diff)
		}
	}
	if _, err := authOf("auth/pre-registration", "{"); err == nil {
		t.Error("a context that is no JSON is taken")
	}
}
