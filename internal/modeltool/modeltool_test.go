package modeltool_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/modeltool"
)

// TestHelperEnv gives programs what they need, and no key.
func TestHelperEnv(t *testing.T) {
	env := modeltool.HelperEnv(func(name string) string {
		return map[string]string{"PATH": "/bin", "TESSDATA_PREFIX": "/data", "OPENAI_API_KEY": "not-a-real-key-000", "SYSTEMROOT": "C:\\Windows"}[name]
	})
	if !slices.Contains(env, "PATH=/bin") || !slices.Contains(env, "TESSDATA_PREFIX=/data") || strings.Contains(strings.Join(env, " "), "not-a-real") {
		t.Errorf("%q", env)
	}
}

// TestComplete takes from the environment what is not set, and an empty variable for none.
func TestComplete(t *testing.T) {
	v := modeltool.Vendors{OpenAIModelName: "set"}
	v.Complete(func(name string) string {
		return map[string]string{"OPENAI_MODEL_NAME": "other", "GEMINI_API_KEY": " key ", "ANTHROPIC_API_KEY": " "}[name]
	})
	if v.OpenAIModelName != "set" || v.GeminiAPIKey != "key" || v.AnthropicAPIKey != "" {
		t.Errorf("%+v", v)
	}
}

func TestBounded(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
		cut  bool
	}{{"ééé", 3, "ééé", false}, {"ééé", 2, "éé", true}, {"", 0, "", false}} {
		if got, cut := modeltool.Bounded(c.s, c.n); got != c.want || cut != c.cut {
			t.Errorf("%q, %d: %q, %v", c.s, c.n, got, cut)
		}
	}
}
