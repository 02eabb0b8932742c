// Package modeltool is what bundled servers that ask models share: their options, how
// the vendors' settings are completed from the environment, the bill of a call, and the
// bound of its answer.
//
//	base, err := o.Common.Open("vision", o.Allow)
//	if err != nil {
//		return nil, err // names the option
//	}
//	o.Vendors.Complete(os.Getenv)
//	claude, err := base.Anthropic(o.Vendors)
//	…
//	srv.AddReceivingMiddleware(modeltool.Bill)
package modeltool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/tool"
)

// Common are the options of every such server.
type Common struct {
	MaxTokensParam string   `json:"max_tokens_param,omitempty" jsonschema:"field that bounds an answer at endpoints like OpenAI's: max_tokens or max_completion_tokens; default: the latter at OpenAI itself, else the former"`
	Prices         []string `json:"prices,omitempty" jsonschema:"what models cost, as MODEL=INPUT/OUTPUT for a million tokens, such as gpt-4o=2.5/10, or MODEL=PRICE/min for a minute of sound; each answer then tells its cost"`
	Proxy          string   `json:"proxy,omitempty" jsonschema:"proxy for all requests, such as http://proxy.example:3128; none is for none; default: that of the environment"`
	CAFile         string   `json:"ca_file,omitempty" path:"yes" jsonschema:"file of PEM certificates to trust besides the system's"`
	TimeoutSec     int      `json:"timeout_sec,omitempty" jsonschema:"seconds for one call of a tool with all its repetitions, 5 to 3600; default: 600"`
}

// Vendors are the settings of the vendors, under the names that their own programs read.
type Vendors struct {
	AnthropicAPIKey    string `json:"anthropic_api_key,omitempty" jsonschema:"key of Anthropic; better in the environment of the server as ANTHROPIC_API_KEY"`
	AnthropicBaseURL   string `json:"anthropic_base_url,omitempty" jsonschema:"base URL of Anthropic; default: $ANTHROPIC_BASE_URL, else https://api.anthropic.com"`
	AnthropicModelName string `json:"anthropic_model_name,omitempty" jsonschema:"model of Anthropic; default: $ANTHROPIC_MODEL_NAME, else claude-sonnet-4-5"`
	OpenAIAPIKey       string `json:"openai_api_key,omitempty" jsonschema:"key of OpenAI, or of who answers at openai_base_url; better in the environment of the server as OPENAI_API_KEY"`
	OpenAIBaseURL      string `json:"openai_base_url,omitempty" jsonschema:"base URL of OpenAI; default: $OPENAI_BASE_URL, else https://api.openai.com/v1"`
	OpenAIModelName    string `json:"openai_model_name,omitempty" jsonschema:"model of OpenAI; default: $OPENAI_MODEL_NAME, else the one that the page of this server names"`
	GeminiAPIKey       string `json:"gemini_api_key,omitempty" jsonschema:"key of Gemini; better in the environment of the server as GEMINI_API_KEY"`
	GeminiBaseURL      string `json:"gemini_base_url,omitempty" jsonschema:"base URL of Gemini; default: $GOOGLE_GEMINI_BASE_URL, else https://generativelanguage.googleapis.com"`
	GeminiModelName    string `json:"gemini_model_name,omitempty" jsonschema:"model of Gemini; default: $GEMINI_MODEL_NAME, else gemini-2.5-pro"`
}

// Complete takes what is not set from the environment. An empty variable is none.
func (v *Vendors) Complete(getenv func(string) string) {
	Fill(getenv, map[*string]string{
		&v.AnthropicAPIKey: "ANTHROPIC_API_KEY", &v.AnthropicBaseURL: "ANTHROPIC_BASE_URL", &v.AnthropicModelName: "ANTHROPIC_MODEL_NAME",
		&v.OpenAIAPIKey: "OPENAI_API_KEY", &v.OpenAIBaseURL: "OPENAI_BASE_URL", &v.OpenAIModelName: "OPENAI_MODEL_NAME",
		&v.GeminiAPIKey: "GEMINI_API_KEY", &v.GeminiBaseURL: "GOOGLE_GEMINI_BASE_URL", &v.GeminiModelName: "GEMINI_MODEL_NAME",
	})
}

// Fill sets each empty setting to the environment's variable of that name.
func Fill(getenv func(string) string, settings map[*string]string) {
	for setting, name := range settings {
		*setting = cmp.Or(strings.TrimSpace(*setting), strings.TrimSpace(getenv(name)))
	}
}

// HelperEnv returns the environment of the programs that help: what finds them and their
// files, and no key.
func HelperEnv(getenv func(string) string) []string {
	var list []string
	for _, name := range []string{"PATH", "PATHEXT", "HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "LANG", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR"} {
		list = append(list, name+"="+getenv(name))
	}
	declared := map[string]string{}
	if dir := getenv("TESSDATA_PREFIX"); dir != "" {
		declared["TESSDATA_PREFIX"] = dir
	}
	return proc.Environ(list, declared)
}

// A Base makes the clients of one server.
type Base struct {
	Timeout time.Duration
	Waits   []time.Duration // of the clients; nil: their own
	Pages   *egress.Client  // for addresses that a model names

	prices model.Prices
	field  string
	out    *egress.Client
}

// Open returns the base of a server. Allow are the internal hosts that its pages may be on.
func (c Common) Open(server string, allow []string) (*Base, error) {
	b := &Base{Timeout: 600 * time.Second, field: c.MaxTokensParam}
	if c.TimeoutSec != 0 {
		if c.TimeoutSec < 5 || c.TimeoutSec > 3600 {
			return nil, fmt.Errorf("option timeout_sec: %d is not between 5 and 3600", c.TimeoutSec)
		}
		b.Timeout = time.Duration(c.TimeoutSec) * time.Second
	}
	if c.MaxTokensParam != "" && !slices.Contains([]string{"max_tokens", "max_completion_tokens"}, c.MaxTokensParam) {
		return nil, fmt.Errorf("option max_tokens_param: %q is neither max_tokens nor max_completion_tokens", c.MaxTokensParam)
	}
	var err error
	if b.prices, err = model.ParsePrices(c.Prices); err != nil {
		return nil, fmt.Errorf("option prices: %w", err)
	}
	if b.Pages, err = egress.New(egress.Options{Server: server, Allow: allow, Proxy: c.Proxy, CAFile: c.CAFile}); err != nil {
		return nil, err
	}
	// A model may think for long before it says a word.
	b.out, err = egress.New(egress.Options{Server: server, Proxy: c.Proxy, CAFile: c.CAFile, Times: egress.Times{Header: b.Timeout, Total: b.Timeout}})
	return b, err
}

// Client returns the client of an endpoint. Option is the one that holds the base URL.
func (b *Base) Client(option string, c model.Client) (*model.Client, error) {
	service, err := b.out.Service(c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("option %s: %w", option, err)
	}
	c.HTTP, c.Prices, c.MaxTokensField, c.Waits = service, b.prices, b.field, b.Waits
	return &c, nil
}

// Anthropic returns the client of Anthropic.
func (b *Base) Anthropic(v Vendors) (*model.Client, error) {
	return b.Client("anthropic_base_url", model.Client{
		Kind: model.Anthropic, BaseURL: cmp.Or(v.AnthropicBaseURL, "https://api.anthropic.com"), Name: cmp.Or(v.AnthropicModelName, "claude-sonnet-4-5"),
		Key: v.AnthropicAPIKey, KeyName: "ANTHROPIC_API_KEY",
	})
}

// OpenAI returns the client of OpenAI.
func (b *Base) OpenAI(v Vendors, name string) (*model.Client, error) {
	return b.Client("openai_base_url", model.Client{
		Kind: model.OpenAI, BaseURL: cmp.Or(v.OpenAIBaseURL, "https://api.openai.com/v1"), Name: cmp.Or(v.OpenAIModelName, name),
		Key: v.OpenAIAPIKey, KeyName: "OPENAI_API_KEY",
	})
}

// Gemini returns the client of Gemini.
func (b *Base) Gemini(v Vendors) (*model.Client, error) {
	return b.Client("gemini_base_url", model.Client{
		Kind: model.Gemini, BaseURL: cmp.Or(v.GeminiBaseURL, "https://generativelanguage.googleapis.com"), Name: cmp.Or(v.GeminiModelName, "gemini-2.5-pro"),
		Key: v.GeminiAPIKey, KeyName: "GEMINI_API_KEY",
	})
}

// Deadline bounds one call.
func (b *Base) Deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, b.Timeout, fmt.Errorf("it took longer than %s (option timeout_sec)", b.Timeout))
}

// UsageKey is where the _meta of a result says what models were paid for it.
const UsageKey = tool.UsageKey

// Bill is middleware that writes what the models of a call have taken into the _meta of
// its result, also where the call failed in the end.
func Bill(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if _, ok := req.(*mcp.CallToolRequest); !ok {
			return next(ctx, method, req)
		}
		ctx, bill := model.WithBill(ctx)
		res, err := next(ctx, method, req)
		if out, ok := res.(*mcp.CallToolResult); ok && err == nil && out != nil {
			if u := bill.Usage(); u.Requests > 0 {
				if out.Meta == nil {
					out.Meta = mcp.Meta{}
				}
				out.Meta[UsageKey] = u
			}
		}
		return res, err
	}
}

// Growth returns what tells the caller of a tool that its answer grows, at most once a
// second, where it wants to know.
func Growth(ctx context.Context, req *mcp.CallToolRequest) func(characters int) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	var last time.Time
	return func(n int) {
		if time.Since(last) < time.Second {
			return
		}
		last = time.Now()
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // one that is lost is followed by others
			ProgressToken: token, Progress: float64(n), Message: fmt.Sprintf("%d characters so far", n),
		})
	}
}

// Bounded cuts a text to at most limit characters, and reports whether it did.
func Bounded(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	r := []rune(s)
	if len(r) <= limit {
		return s, false
	}
	return string(r[:limit]), true
}

// Notes returns notes as lines for a model, or nothing.
func Notes(notes []string) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString("\n\nNote: " + n)
	}
	return b.String()
}

// External are the annotations of a tool that only reads, by asking a service outside.
func External() *mcp.ToolAnnotations {
	no, yes := false, true
	return &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &yes}
}
