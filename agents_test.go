package tenon_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/tool"
)

// A scripted model says one thing after the other, and keeps what it was asked.
type scripted struct {
	mu    sync.Mutex
	says  []string // each the message of a choice; the last one again and again
	asked []question
	codes []int // HTTP status of the first answers, where not 200
	picky bool  // it wants the tools of a talk that has called some
}

type question struct {
	Model    string
	Messages []struct {
		Role      string
		Content   string
		ReplyTo   string `json:"tool_call_id"`
		ToolCalls []any  `json:"tool_calls"`
	}
	Tools []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        map[string]any
		}
	}
	Choice string `json:"tool_choice"`
}

// last returns the text of the last message that a question has.
func (q question) last() string { return q.Messages[len(q.Messages)-1].Content }

func (q question) names() string {
	var names []string
	for _, t := range q.Tools {
		names = append(names, t.Function.Name)
	}
	return strings.Join(names, " ")
}

const fakeKey = "not-a-real-key-000"

func (s *scripted) start(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" { // a check asks for it
			_, _ = io.WriteString(w, `{"data": []}`)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.codes) > 0 {
			code := s.codes[0]
			s.codes = s.codes[1:]
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, `{"error": {"message": "no, %s"}}`, r.Header.Get("Authorization"))
			return
		}
		var q question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+fakeKey {
			t.Errorf("%s %v %v", r.URL, r.Header, err)
		}
		if s.picky && len(s.asked) > 0 && len(q.Tools) == 0 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error": {"message": "tools is required where messages have tool_calls"}}`)
			return
		}
		message := s.says[min(len(s.asked), len(s.says)-1)]
		s.asked = append(s.asked, q)
		_, _ = fmt.Fprintf(w, `{"choices": [{"message": %s}], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}`, message)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/v1"
}

func (s *scripted) questions() []question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func wants(name, arguments string) string {
	b, _ := json.Marshal(arguments)
	return fmt.Sprintf(`{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": %q, "arguments": %s}}]}`, name, b)
}

const done = `{"role": "assistant", "content": "<think>hm</think> It is done."}`

// agents opens a pool with agents that are models, and two Go functions: one that
// reads and one that writes.
func agents(t *testing.T, yaml string, o tenon.Options) (g *tenon.Gateway, written *[]string) {
	t.Helper()
	type in struct {
		Text string `json:"text"`
	}
	type out struct {
		Text string `json:"text"`
	}
	written = &[]string{}
	reads := tool.Meta{ReadOnly: true, SideEffect: tool.EffectNone, RiskLevel: tool.RiskLow, MaxResultChars: 1000}
	tenon.AddTool(&o, tenon.Function{Name: "look", Description: "Looks something up.", Meta: &reads},
		func(_ context.Context, i in) (out, error) { return out{"seen: " + i.Text}, nil })
	writes := reads
	writes.ReadOnly, writes.SideEffect = false, tool.EffectFilesystem
	tenon.AddTool(&o, tenon.Function{Name: "write", Description: "Writes something down.", Meta: &writes},
		func(_ context.Context, i in) (out, error) {
			if i.Text == "" {
				return out{}, errors.New("nothing to write")
			}
			*written = append(*written, i.Text)
			return out{"written"}, nil
		})
	o.Config = write(t, yaml)
	return open(t, o), written
}

func entryOf(url, more string) string {
	return fmt.Sprintf("{agent: {model: {base_url: %q, name: tiny, key: %s, price_in: 1, price_out: 1}%s}}", url, fakeKey, more)
}

func subtask(t *testing.T, g *tenon.Gateway, server string, c tool.Call) *tool.Result {
	t.Helper()
	c.Server, c.Tool = server, "execute_subtask"
	if c.Arguments == nil {
		c.Arguments = json.RawMessage(`{"subtask": "Find out what is there."}`)
	}
	return g.Call(context.WithoutCancel(t.Context()), c)
}

func TestAnAgentWorksWithTools(t *testing.T) {
	t.Parallel()
	m := &scripted{says: []string{wants("go__look", `{"text": "under the bed"}`), done}, codes: []int{503}}
	g, _ := agents(t, "version: 1\nservers:\n  helper: "+entryOf(m.start(t), `, instructions: Be brief., tools: ["go/*"]`), tenon.Options{})
	var progress []string
	res := subtask(t, g, "helper", tool.Call{
		Params:   json.RawMessage(`{"name": "x", "arguments": {"subtask": "Find out what is there."}, "_meta": {"progressToken": 7}}`),
		Progress: func(p json.RawMessage) { progress = append(progress, string(p)) },
	})
	if res.Kind != "" || inFence(res) != "It is done." {
		t.Fatalf("%s: %s", res.Kind, res.Text())
	}
	asked := m.questions()
	if len(asked) != 2 || asked[0].Model != "tiny" || asked[0].Messages[0].Content != "Be brief." || asked[0].last() != "Find out what is there." {
		t.Fatalf("asked %+v", asked)
	}
	if asked[0].names() != "go__look go__write" || asked[0].Tools[0].Function.Parameters["type"] != "object" {
		t.Errorf("offered %+v", asked[0].Tools)
	}
	if last := asked[1].Messages[len(asked[1].Messages)-1]; last.Role != "tool" || last.ReplyTo != "c1" || !strings.Contains(last.Content, "seen: under the bed") {
		t.Errorf("the answer of the tool: %+v", last)
	}
	raw, _ := json.Marshal(res)
	if !strings.Contains(string(raw), `"input_tokens":200`) || !strings.Contains(string(raw), `"go__look"`) {
		t.Errorf("what it used is not told: %s", raw)
	}
	rec, _ := g.CallRecord(res.ID)
	if u := rec.Usage; u == nil || u.Model != "tiny" || u.Requests != 2 || u.Tokens() != 220 || u.Price() < 0.00021 || u.Price() > 0.00023 {
		t.Errorf("the record has usage %+v", u)
	}
	if len(progress) != 1 || !strings.Contains(progress[0], "calls go__look") || !strings.Contains(progress[0], `"progressToken":7`) {
		t.Errorf("progress %v", progress)
	}
}

// TestAnAgentDoesNoMoreThanItsCaller offers and carries out only what the caller of the
// agent, and the agent's own entry, allow.
func TestAnAgentDoesNoMoreThanItsCaller(t *testing.T) {
	for _, tt := range []struct {
		name, more string
		mode       tool.Mode
		offered    string
		writes     int
	}{
		{"all", `, tools: ["go/*"]`, "", "go__look go__write", 1},
		{"no tools", ``, "", "", 0},
		{"patterns", `, tools: ["go/look", "other/*"]`, "", "go__look", 0},
		{"its own mode", `, tools: ["go/*"], mode: read_only`, "", "go__look", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &scripted{says: []string{wants("go__write", `{"text": "x"}`), done}}
			g, written := agents(t, "version: 1\nservers:\n  helper: "+entryOf(m.start(t), tt.more), tenon.Options{})
			res := subtask(t, g, "helper", tool.Call{Mode: tt.mode})
			if len(*written) != tt.writes {
				t.Errorf("it has written %v", *written)
			}
			if got := m.questions()[0].names(); got != tt.offered {
				t.Errorf("offered %q, want %q", got, tt.offered)
			}
			if tt.offered != "" && inFence(res) != "It is done." {
				t.Errorf("%s: %s", res.Kind, res.Text())
			}
		})
	}
	// A stricter mode of the call holds for what its agent does.
	m := &scripted{says: []string{wants("go__write", `{"text": "x"}`), done}}
	g, written := agents(t, "version: 1\nservers:\n  helper: "+entryOf(m.start(t), `, tools: ["go/*"], mode: read_only`), tenon.Options{})
	if res := subtask(t, g, "helper", tool.Call{Mode: tool.ModeReadOnly}); res.Kind != "" || len(*written) != 0 {
		t.Errorf("%s: %s, written %v", res.Kind, res.Text(), *written)
	}
}

func TestAnAgentIsBounded(t *testing.T) {
	look := wants("go__look", `{"text": "again"}`)
	for _, tt := range []struct {
		more, note string
		asked      int
	}{
		{"max_iters: 2", "2 rounds", 3},
		{"max_iters: 9, max_calls: 1", "had its 1 call", 2},
		{"max_iters: 9, max_tokens: 300", "330 of 300 tokens", 4},
	} {
		m := &scripted{says: []string{look, look, look}}
		m.says = append(m.says[:tt.asked-1], done)
		g, _ := agents(t, "version: 1\nservers:\n  helper: "+entryOf(m.start(t), `, tools: ["go/*"], `+tt.more), tenon.Options{})
		res := subtask(t, g, "helper", tool.Call{})
		asked := m.questions()
		if len(asked) != tt.asked || asked[len(asked)-1].names() != "" || asked[len(asked)-1].Choice != "" || !strings.Contains(asked[len(asked)-1].last(), "Give your answer now") {
			t.Errorf("%s: asked %d times, at last %q", tt.more, len(asked), asked[len(asked)-1].last())
		}
		if len(res.Notes) == 0 || !strings.Contains(res.Notes[0].Text, tt.note) || inFence(res) != "It is done." {
			t.Errorf("%s: %s, notes %+v", tt.more, res.Text(), res.Notes)
		}
	}
}

// TestWhatAnAgentFoundIsNotLost where its model calls tools to the very end, whatever it
// is told, and where its bound is met in the middle of its work.
func TestWhatAnAgentFoundIsNotLost(t *testing.T) {
	t.Parallel()
	look := wants("go__look", `{"text": "under the bed"}`)
	for _, tt := range []struct {
		says                []string
		codes               []int
		more, policy, want  string
		failed              bool
		asked               int
		tools, choice, text string // of the last question, and what comes back
	}{
		{says: []string{look}, more: "max_iters: 2", want: "after 4 rounds and 2 calls: the model gave no answer. Before, it had its 2 rounds.", asked: 4},
		{says: []string{look}, more: "max_iters: 9, max_calls: 1", want: "after 3 rounds and 1 call: the model gave no answer", asked: 3},
		{says: []string{look}, more: "max_iters: 9, max_tokens: 100", want: "it had used 110 of 100 tokens", asked: 3},
		{says: []string{look}, more: "max_iters: 50", policy: "\npolicy: {limits: [{per: caller, tokens: 200}]}", want: "the operator can raise it. What its tools did", asked: 2},
		{says: []string{look, `{"role": "assistant", "content": " "}`}, more: "max_iters: 9", want: "without text", failed: true, asked: 4},
		{says: []string{look, look, done}, more: "max_iters: 1", text: "It is done.", asked: 3},
	} {
		m := &scripted{says: tt.says, codes: tt.codes}
		g, _ := agents(t, "version: 1\nservers:\n  helper: "+entryOf(m.start(t), `, tools: ["go/*"], max_result_chars: 2000, `+tt.more)+tt.policy, tenon.Options{})
		res := subtask(t, g, "helper", tool.Call{})
		got := res.Text()
		if asked := m.questions(); len(asked) != tt.asked {
			t.Errorf("%s: asked %d times", tt.more, len(asked))
		}
		if tt.text != "" {
			if inFence(res) != tt.text || res.Kind != "" {
				t.Errorf("%s: %s: %s", tt.more, res.Kind, got)
			}
			continue
		}
		if (res.Kind != "") != tt.failed || !strings.Contains(got, "UNFINISHED") || !strings.Contains(got, "seen: under the bed") || !strings.Contains(got, tt.want) || strings.Contains(got, "..") {
			t.Errorf("%s: %s: %s", tt.more, res.Kind, got)
		}
	}
}

// TestAnEndpointMayWantTheToolsOfTheTalk to the last: then it is told to call none.
func TestAnEndpointMayWantTheToolsOfTheTalk(t *testing.T) {
	t.Parallel()
	m := &scripted{says: []string{wants("go__look", `{"text": "x"}`), done}, picky: true}
	g, _ := agents(t, "version: 1\nservers:\n  helper: "+entryOf(m.start(t), `, tools: ["go/*"], max_iters: 1`), tenon.Options{})
	res := subtask(t, g, "helper", tool.Call{})
	if asked := m.questions(); inFence(res) != "It is done." || len(asked) != 2 || asked[1].Choice != "none" || asked[1].names() == "" {
		t.Errorf("%s: %s, asked %+v", res.Kind, res.Text(), asked)
	}
}

// TestTheBudgetOfItsCallerEndsAnAgent in the middle of its work, and keeps others from
// beginning.
func TestTheBudgetOfItsCallerEndsAnAgent(t *testing.T) {
	look := wants("go__look", `{"text": "again"}`)
	m := &scripted{says: []string{look}}
	g, _ := agents(t, "version: 1\nservers:\n  helper: "+entryOf(m.start(t), `, tools: ["go/*"], max_iters: 50`)+
		"\npolicy: {limits: [{per: caller, tokens: 300, every: 24h}]}", tenon.Options{})
	for i, want := range []string{"300 tokens of models in 24h for this caller is used up", "300 tokens of models"} {
		res := subtask(t, g, "helper", tool.Call{Caller: tool.Caller{Name: "ann"}})
		if (res.Kind == "") != (i == 0) || !strings.Contains(res.Text(), want) || len(m.questions()) != 3 {
			t.Errorf("%d: %s: %s, after %d questions", i, res.Kind, res.Text(), len(m.questions()))
		}
	}
	if res := subtask(t, g, "helper", tool.Call{Caller: tool.Caller{Name: "bob"}}); len(m.questions()) == 3 {
		t.Errorf("somebody else: %s: %s", res.Kind, res.Text())
	}
}

func TestWhatAModelGetsWrong(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(`{"id": "c", "type": "function", "function": {"name": "go__look", "arguments": "{\"text\": \"x\"}"}},`, 30)
	for _, tt := range []struct{ says, want string }{
		{wants("go__look", `{"text": `), "no JSON object"},
		{wants("go__look", `[1]`), "no JSON object"},
		{wants("go__look", ``), "text"}, // its schema wants one
		{wants("rm__everything", `{}`), "no tool of this name"},
		{wants("helper__execute_subtask", `{"subtask": "again"}`), "no tool of this name"},
		{`{"role": "assistant", "tool_calls": [` + strings.TrimSuffix(many, ",") + `]}`, "more than 10 calls"},
		{wants("go__write", `{"text": ""}`), "nothing to write"},
	} {
		m := &scripted{says: []string{tt.says, done}}
		g, _ := agents(t, "version: 1\nservers:\n  helper: "+entryOf(m.start(t), `, tools: ["*/*"]`), tenon.Options{})
		res := subtask(t, g, "helper", tool.Call{})
		if asked := m.questions(); res.Kind != "" || len(asked) != 2 || !strings.Contains(asked[1].last(), tt.want) {
			t.Errorf("%.60s: %s: %s; the model was told %q, want %q", tt.says, res.Kind, res.Text(), asked[len(asked)-1].last(), tt.want)
		}
	}
	for _, says := range []string{`{"role": "assistant", "content": "  "}`, `{}`} {
		m := &scripted{says: []string{says}}
		g, _ := agents(t, "version: 1\nservers:\n  helper: "+entryOf(m.start(t), ""), tenon.Options{})
		if res := subtask(t, g, "helper", tool.Call{}); res.Kind != tool.Failed || !strings.Contains(res.Text(), "without text") {
			t.Errorf("%s: %s: %s", says, res.Kind, res.Text())
		}
	}
}

func TestAModelThatCannotBeHad(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		codes []int
		want  string
	}{
		{[]int{401}, "answered 401 Unauthorized: it does not take the key: the operator must check agent.model.key"},
		{[]int{500, 500, 500}, "answered 500 Internal Server Error"},
	} {
		m := &scripted{says: []string{done}, codes: tt.codes}
		g, _ := agents(t, "version: 1\nservers:\n  helper: "+entryOf(m.start(t), ""), tenon.Options{})
		res := subtask(t, g, "helper", tool.Call{})
		if res.Kind != tool.Unavailable || !strings.Contains(res.Text(), tt.want) || strings.Contains(res.Text(), fakeKey) {
			t.Errorf("%v: %s: %s", tt.codes, res.Kind, res.Text())
		}
	}
	g, _ := agents(t, "version: 1\nservers:\n  helper: "+entryOf("http://169.254.169.254/v1", ""), tenon.Options{})
	if res := subtask(t, g, "helper", tool.Call{}); res.Kind != tool.Unavailable {
		t.Errorf("the address of a cloud's credentials: %s: %s", res.Kind, res.Text())
	}
}

// TestAgentsDoNotCallEachOtherForEver has two that call each other.
func TestAgentsDoNotCallEachOtherForEver(t *testing.T) {
	a := &scripted{says: []string{wants("b__execute_subtask", `{"subtask": "you do it"}`), done}}
	b := &scripted{says: []string{wants("a__execute_subtask", `{"subtask": "no, you"}`), done}}
	g, _ := agents(t, "version: 1\nservers:\n  a: "+entryOf(a.start(t), `, tools: ["*/*"]`)+"\n  b: "+entryOf(b.start(t), `, tools: ["*/*"]`), tenon.Options{})
	if res := subtask(t, g, "a", tool.Call{}); res.Kind != "" {
		t.Errorf("%s: %s", res.Kind, res.Text())
	}
	if na, nb := len(a.questions()), len(b.questions()); na != 2 || nb != 2 {
		t.Errorf("a was asked %d times and b %d times", na, nb)
	}
	if got := b.questions()[0].names(); strings.Contains(got, "a__execute_subtask") {
		t.Errorf("at the last depth there are still agents to call: %s", got)
	}
	if got := b.questions()[1].last(); !strings.Contains(got, "no tool of this name") {
		t.Errorf("b was told %q", got)
	}
	// Another program may be in between: it hands on how deep it is.
	res := subtask(t, g, "a", tool.Call{Params: json.RawMessage(`{"name": "x", "arguments": {"subtask": "x"}, "_meta": {"tenon/depth": 2}}`), Arguments: json.RawMessage(`{"subtask": "x"}`)})
	if res.Kind != tool.Failed || !strings.Contains(res.Text(), "agents have already called agents 2 deep") {
		t.Errorf("%s: %s", res.Kind, res.Text())
	}
}

// TestWaysToModels: by a proxy, and to endpoints whose certificates an operator has made.
func TestWaysToModels(t *testing.T) {
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	m := &scripted{says: []string{done}}
	target, err := url.Parse(strings.TrimSuffix(m.start(t), "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	var by sync.Map // hosts that the proxy was asked for
	pass := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by.Store(r.Host+" "+r.Header.Get("Proxy-Authorization"), true)
		if r.Host == "10.255.255.2" {
			http.NotFound(w, r)
			return
		}
		pass.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	secure := httptest.NewTLSServer(pass)
	defer secure.Close()
	config := write(t, fmt.Sprintf("version: 1\nservers:\n"+
		"  proxied: {agent: {model: {base_url: \"http://10.255.255.1/v1\", name: m, key: %[1]s, proxy: %[2]q}}}\n"+
		"  there: {agent: {a2a: \"http://10.255.255.2\", proxy: %[2]q}}\n"+
		"  ours: {agent: {model: {base_url: \"%[3]s/v1\", name: m, key: %[1]s, ca_file: ca.pem}}}\n"+
		"  strange: {agent: {model: {base_url: \"%[3]s/v1\", name: m, key: %[1]s}}}\n"+
		"  lost: {agent: {model: {base_url: \"%[3]s/v1\", name: m, ca_file: absent.pem}}}\n",
		fakeKey, strings.Replace(proxy.URL, "//", "//ann:not-a-real-password-000@", 1), secure.URL))
	pemOf := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), "ca.pem"), pemOf, 0o600); err != nil {
		t.Fatal(err)
	}
	g := open(t, tenon.Options{Config: config})
	for server, want := range map[string]string{"proxied": "It is done.", "ours": "It is done.", "strange": "certificate", "there": "its card", "lost": "absent.pem"} {
		if res := subtask(t, g, server, tool.Call{}); !strings.Contains(res.Text(), want) || strings.Contains(res.Text(), "not-a-real-password") {
			t.Errorf("%s: %s: %s", server, res.Kind, res.Text())
		}
	}
	for _, host := range []string{"10.255.255.1", "10.255.255.2"} {
		if _, ok := by.Load(host + " Basic YW5uOm5vdC1hLXJlYWwtcGFzc3dvcmQtMDAw"); !ok {
			t.Errorf("the proxy was not asked for %s", host)
		}
	}
}

// TestAnAgentDoesNotWaitForItself: its calls do not run side by side within a session, so
// that one which comes back to it would wait until the time is over.
func TestAnAgentDoesNotWaitForItself(t *testing.T) {
	m := &scripted{says: []string{wants("b__execute_subtask", `{"subtask": "you do it"}`), done}}
	url := m.start(t)
	g, _ := agents(t, "version: 1\nservers:\n  a: "+entryOf(url, `, tools: ["*/*"], max_depth: 8`)+
		"\n  b: {agent: {tool: a/execute_subtask, max_depth: 8}}\n  c: {agent: {tool: d/execute_subtask}}\n  d: {agent: {tool: c/execute_subtask}}", tenon.Options{})
	if res := subtask(t, g, "a", tool.Call{Timeout: time.Minute}); res.Kind != "" || !strings.Contains(m.questions()[1].last(), "would wait for itself") {
		t.Errorf("%s: %s", res.Kind, res.Text())
	}
	if res := subtask(t, g, "c", tool.Call{Timeout: time.Minute}); res.Kind != tool.Failed || !strings.Contains(res.Text(), "would wait for itself") {
		t.Errorf("%s: %s", res.Kind, res.Text())
	}
}

// TestExampleOfAgents runs the three of the example with a model of ours.
func TestExampleOfAgents(t *testing.T) {
	t.Parallel()
	m := &scripted{says: []string{done}}
	g := open(t, tenon.Options{
		Config: filepath.Join(testenv.Root(t), "examples", "agents", "tenon.yaml"),
		Env:    []string{"AGENT_BASE_URL=" + m.start(t), "AGENT_KEY=" + fakeKey},
	})
	for i, tt := range []struct{ server, has, hasNot string }{
		{"evidence_collector", "system__get_local_cpu_memory", "knowledge__search_knowledge_base"},
		{"kb_researcher", "knowledge__search_knowledge_base", "system__get_local_cpu_memory"},
		{"report_writer", "", "time__get_current_time"},
	} {
		if res := subtask(t, g, tt.server, tool.Call{}); inFence(res) != "It is done." {
			t.Fatalf("%s: %s: %s", tt.server, res.Kind, res.Text())
		}
		names := m.questions()[i].names()
		if !strings.Contains(names, tt.has) || strings.Contains(names, tt.hasNot) || strings.Contains(names, "execute_subtask") {
			t.Errorf("%s is offered %s", tt.server, names)
		}
	}
}

// TestAnAgentMayBeATool: of any server of the pool.
func TestAnAgentMayBeATool(t *testing.T) {
	g, written := agents(t, "version: 1\nservers:\n  other: {agent: {tool: go/write, argument: text, description: Hands it to the scribe who writes things down.}}\n  lost: {agent: {tool: gone/x}}", tenon.Options{})
	if res := subtask(t, g, "other", tool.Call{}); res.Kind != "" || len(*written) != 1 || (*written)[0] != "Find out what is there." {
		t.Errorf("%s: %s, written %v", res.Kind, res.Text(), *written)
	}
	if res := subtask(t, g, "other", tool.Call{Mode: tool.ModeReadOnly}); res.Kind != tool.Denied || len(*written) != 1 {
		t.Errorf("%s: %s, written %v", res.Kind, res.Text(), *written)
	}
	if res := subtask(t, g, "lost", tool.Call{}); res.Kind != tool.Unavailable || !strings.Contains(res.Text(), "The operator must mend") {
		t.Errorf("%s: %s", res.Kind, res.Text())
	}
	if res := subtask(t, g, "other", tool.Call{Arguments: json.RawMessage(`{"subtask": ""}`)}); res.Kind == "" {
		t.Error("an empty subtask was taken")
	}
}
