package python

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/e2b"
	"github.com/tenon-mcp/tenon/tool"
)

// E2BOptions are those of the back end e2b.
type E2BOptions struct {
	E2BAPIKey     string `json:"e2b_api_key,omitempty" jsonschema:"back end e2b: key of E2B; better in the environment of the server as E2B_API_KEY"`
	E2BTemplate   string `json:"e2b_template,omitempty" jsonschema:"back end e2b: name or id of the template that sandboxes are made of, which must have the code interpreter; default: $DEFAULT_TEMPLATE_ID, else code-interpreter-v1"`
	E2BDomain     string `json:"e2b_domain,omitempty" jsonschema:"back end e2b: domain of the service; default: $E2B_DOMAIN, else e2b.app"`
	E2BBaseURL    string `json:"e2b_base_url,omitempty" jsonschema:"back end e2b: base URL of the control plane; default: $E2B_API_URL, else https://api. and the domain"`
	E2BSandboxURL string `json:"e2b_sandbox_url,omitempty" jsonschema:"back end e2b: base URL of one proxy for all sandboxes; default: $E2B_SANDBOX_URL, else a host for each below the domain"`
	E2BInternet   bool   `json:"e2b_internet,omitempty" jsonschema:"back end e2b: let code reach the whole internet. Tools that run code are then of high risk"`
}

// complete takes from the environment what is not set.
func (o *E2BOptions) complete(getenv func(string) string) {
	for name, to := range map[string]*string{
		"E2B_API_KEY": &o.E2BAPIKey, "DEFAULT_TEMPLATE_ID": &o.E2BTemplate, "E2B_DOMAIN": &o.E2BDomain,
		"E2B_API_URL": &o.E2BBaseURL, "E2B_SANDBOX_URL": &o.E2BSandboxURL,
	} {
		*to = cmp.Or(*to, getenv(name))
	}
}

func newE2B(s setting) (sandbox.Backend, error) { return s.e2b() }

func (s setting) e2b() (*e2b.Backend, error) {
	s.complete(s.getenv)
	return e2b.New(e2b.Options{
		Key: tool.NewSecret(s.E2BAPIKey), Domain: s.E2BDomain, BaseURL: s.E2BBaseURL, Machines: s.E2BSandboxURL,
		Template: s.E2BTemplate, Internet: s.E2BInternet, Dir: e2bDir(s.Dir), Proxy: s.Proxy, CAFile: s.CAFile,
	})
}

// e2bDir is where processes note that they live, so that the next one ends what they left.
func e2bDir(dir string) string {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "" // what is left ends by its own time
		}
		dir = filepath.Join(cache, "tenon")
	}
	return filepath.Join(dir, "e2b")
}
