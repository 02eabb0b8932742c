package reasoning_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/modeltool"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/servers/reasoning"
)

func connect(t *testing.T, o reasoning.Options, env map[string]string) (cs *mcp.ClientSession, again int) {
	t.Helper()
	o.Proxy = "none"
	srv, again, err := reasoning.Build(o, env)
	if err != nil {
		t.Fatal(err)
	}
	return testenv.Client(t, srv), again
}

type result struct {
	text   string
	failed bool
	out    struct {
		Answer, Provider string
		Usage            *struct {
			Model  string
			Output int      `json:"output_tokens"`
			Cost   *float64 `json:"cost"`
		}
	}
	billed bool
}

func ask(t *testing.T, cs *mcp.ClientSession, question string) result {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "reasoning", Arguments: map[string]any{"question": question}})
	if err != nil {
		t.Fatal(err)
	}
	r := result{text: res.Content[0].(*mcp.TextContent).Text, failed: res.IsError, billed: res.Meta["tenon/usage"] != nil}
	b, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &r.out); err != nil {
		t.Fatal(err)
	}
	if utf8.RuneCountInString(r.text) > 20_000 || strings.Contains(r.text, doubles.Key) {
		t.Errorf("%.300s", r.text)
	}
	return r
}

// own returns the environment of an endpoint of one's own.
func own(t *testing.T, d *doubles.Double, name string) map[string]string {
	t.Helper()
	return map[string]string{"REASONING_API_KEY": doubles.Key, "REASONING_BASE_URL": doubles.Start(t, d) + "/v1/chat/completions", "REASONING_MODEL_NAME": name}
}

// TestProviders asks each vendor, chosen by the settings, in their order.
func TestProviders(t *testing.T) {
	gemini, claude, openai, mine := doubles.Gemini(), doubles.Anthropic(), doubles.OpenAI(), doubles.OpenAI()
	env := map[string]string{}
	for _, step := range []struct {
		provider string
		more     map[string]string
		double   *doubles.Double
		body     string // what the request holds
		again    int
	}{
		{"Gemini", map[string]string{"GEMINI_API_KEY": doubles.Key, "GOOGLE_GEMINI_BASE_URL": doubles.Start(t, gemini)}, gemini, `"contents"`, 4},
		{"Anthropic", map[string]string{"ANTHROPIC_API_KEY": doubles.Key, "ANTHROPIC_BASE_URL": doubles.Start(t, claude), "ANTHROPIC_MODEL_NAME": "claude-x"}, claude, `"thinking":{"budget_tokens":19000,"type":"enabled"}`, 4},
		{"OpenAI", map[string]string{"OPENAI_API_KEY": doubles.Key, "OPENAI_BASE_URL": doubles.Start(t, openai) + "/v1"}, openai, `"model":"o3"`, 4},
		{"the reasoning endpoint", own(t, mine, "qwq"), mine, `"temperature":0.6,"top_p":0.95`, 9},
	} {
		maps.Copy(env, step.more)
		for _, whole := range []bool{false, true} {
			o := reasoning.Options{NoStream: whole}
			o.Prices = []string{"claude-x=0/1000", "o3=0/1000", "gemini-2.5-pro=0/1000", "qwq=0/1000"}
			cs, again := connect(t, o, env)
			r := ask(t, cs, "Is P = NP?")
			if r.failed || r.text != "Is P = NP?" || r.out.Provider != step.provider || !r.billed || r.out.Usage.Output != 20 || r.out.Usage.Cost == nil || *r.out.Usage.Cost != 0.02 || again != step.again {
				t.Errorf("%s, whole %v: %+v, again %d", step.provider, whole, r, again)
			}
			calls := step.double.Calls()
			if last := calls[len(calls)-1]; !strings.Contains(string(last.Body), step.body) || strings.Contains(string(last.Body)+last.Path, "tream") == whole {
				t.Errorf("%s, whole %v: asked %s %s", step.provider, whole, last.Path, last.Body)
			}
		}
	}
}

// TestThinkingIsLeftOut meets the ways in which servers of open models tell what was thought.
func TestThinkingIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		model string
		fault doubles.Fault
		want  string
		note  bool
	}{
		{"qwq", doubles.Fault{Warning: "<think>Hm. "}, "What?", false},
		{"a-reasoner", doubles.Fault{Warning: "Hm."}, "What?", false},
		{"a-reasoner", doubles.Fault{Warning: "Hm.", Empty: true}, "Hm.", true},
		{"qwq", doubles.Fault{Warning: "<think>Hm. ", Empty: true}, "Hm.", false},
	} {
		d := doubles.OpenAI()
		d.Fail(c.fault)
		cs, _ := connect(t, reasoning.Options{}, own(t, d, c.model))
		r := ask(t, cs, "What?")
		if r.failed || r.out.Answer != c.want || strings.Contains(r.text, "no answer apart") != c.note || len(d.Calls()) != 1 {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		fault  doubles.Fault
		calls  int
		failed bool
		want   string
	}{
		{doubles.Fault{Status: 401}, 1, true, "REASONING_API_KEY"},
		{doubles.Fault{Status: 503, Times: 2}, 3, false, "What?"},
		{doubles.Fault{Status: 503}, 3, true, "try again later"},
		{doubles.Fault{Empty: true}, 3, true, "without text"},
		{doubles.Fault{Truncated: true}, 3, true, "too early"},
		{doubles.Fault{Code: "content_filter"}, 1, true, "held its answer back"},
	} {
		d := doubles.OpenAI()
		d.Fail(c.fault)
		cs, _ := connect(t, reasoning.Options{}, own(t, d, "qwq"))
		r := ask(t, cs, "What?")
		if r.failed != c.failed || !strings.Contains(r.text, c.want) || len(d.Calls()) != c.calls {
			t.Errorf("%+v: %d calls: %+v", c.fault, len(d.Calls()), r)
		}
	}
}

func TestBounds(t *testing.T) {
	cs, _ := connect(t, reasoning.Options{}, own(t, doubles.OpenAI(), "qwq"))
	for question, want := range map[string]string{"": "question is empty", " \n": "question is empty", strings.Repeat("x", 500_000): "at most 400000", strings.Repeat("x", 5<<20): "at most 4194304"} {
		if r := ask(t, cs, question); !r.failed || !strings.Contains(r.text, want) {
			t.Errorf("%.20s: %.200s", question, r.text)
		}
	}
	if r := ask(t, cs, strings.Repeat("é", 30_000)); r.failed || !strings.Contains(r.text, "ask for a shorter one") {
		t.Errorf("%.200s", r.text)
	}
	nobody, _ := connect(t, reasoning.Options{}, nil)
	if r := ask(t, nobody, "?"); !r.failed || !strings.Contains(r.text, "REASONING_BASE_URL") || !strings.Contains(r.text, "GEMINI_API_KEY") {
		t.Error(r.text)
	}
}

// TestProgress tells a client that asks for it how the answer grows.
func TestProgress(t *testing.T) {
	srv, _, err := reasoning.Build(reasoning.Options{Common: modeltool.Common{Proxy: "none"}}, own(t, doubles.OpenAI(), "qwq"))
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan *mcp.ProgressNotificationParams, 10)
	cs := testenv.ClientWith(t, srv, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { told <- req.Params },
	})
	p := &mcp.CallToolParams{Name: "reasoning", Arguments: map[string]any{"question": "What?"}}
	p.SetProgressToken("a token")
	if res, err := cs.CallTool(t.Context(), p); err != nil || res.IsError {
		t.Fatal(res, err)
	}
	select {
	case got := <-told:
		if got.ProgressToken != "a token" || got.Progress < 1 || !strings.Contains(got.Message, "characters so far") {
			t.Errorf("%+v", got)
		}
	case <-time.After(time.Minute):
		t.Error("nothing was told")
	}
}

// TestCancel ends a call while the model thinks.
func TestCancel(t *testing.T) {
	d := doubles.OpenAI()
	d.Fail(doubles.Fault{Slow: time.Minute})
	cs, _ := connect(t, reasoning.Options{}, own(t, d, "qwq"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "reasoning", Arguments: map[string]any{"question": "?"}}); err == nil || time.Since(start) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

func TestOptions(t *testing.T) {
	for want, set := range map[string]func(*reasoning.Options){
		"thinking_tokens": func(o *reasoning.Options) { o.ThinkingTokens = 10 }, "timeout_sec": func(o *reasoning.Options) { o.TimeoutSec = 4000 },
		"max_tokens:":          func(o *reasoning.Options) { o.MaxTokens = 10 },
		"reasoning_model_name": func(o *reasoning.Options) { o.ReasoningBaseURL = "http://127.0.0.1:1" },
		"reasoning_base_url":   func(o *reasoning.Options) { o.ReasoningBaseURL, o.ReasoningModelName = "x", "m" },
		"must be more than":    func(o *reasoning.Options) { o.AnthropicAPIKey, o.MaxTokens = "k", 5000 },
		"proxy":                func(o *reasoning.Options) { o.Proxy = "nonsense" },
		"ca_file":              func(o *reasoning.Options) { o.CAFile = "/nothing/there" },
	} {
		var o reasoning.Options
		set(&o)
		if _, _, err := reasoning.Build(o, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
