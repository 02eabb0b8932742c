package call_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/mapping"
	"github.com/tenon-mcp/tenon/tool"
)

// A world is a pool whose tools answer as told.
type world struct {
	shelf   *shelf
	answers map[string]any // by "server/tool": an error, a text, or a function
	sent    []string       // "server/tool arguments"
	o       call.Options
}

func id(name string) tool.ID {
	server, name, _ := strings.Cut(name, "/")
	return tool.ID{Server: server, Name: name}
}

func match(name string) func(tool.ID) bool {
	return func(other tool.ID) bool { return other == id(name) }
}

// newWorld returns a pool of tools that only read, or write where the name begins
// with "w".
func newWorld(answers map[string]any, fallbacks ...call.Fallback) *world {
	w := &world{shelf: &shelf{}, answers: answers}
	for name := range answers {
		meta := tool.Meta{ReadOnly: true, Registered: true}
		if n := id(name).Name; strings.HasPrefix(n, "w_") {
			meta = tool.Meta{}
		} else if strings.HasPrefix(n, "i_") {
			meta = tool.Meta{Idempotent: true}
		} else if n == "scrape" {
			meta = tool.DefaultMeta()
		}
		w.shelf.tools = append(w.shelf.tools, tool.Tool{ID: id(name), Meta: meta})
	}
	w.o = call.Options{
		Catalog: w.shelf, Fallbacks: fallbacks,
		Send: func(ctx context.Context, r *call.Request, params []byte) (tool.Bytes, error) {
			w.sent = append(w.sent, r.Target.ID.String()+" "+string(params))
			switch a := w.answers[r.Target.ID.String()].(type) {
			case error:
				return nil, a
			case func(context.Context) (tool.Bytes, error):
				return a(ctx)
			case tool.Bytes:
				return a, nil
			case string:
				return text(a), nil
			}
			return nil, errors.New("no such answer")
		},
		Retry:  call.Retry{Attempts: 1},
		Record: func(*call.Request, *tool.Result) {},
		NewID:  func() string { return "id" },
	}
	return w
}

func (w *world) call(t *testing.T, name, args string) *tool.Result {
	t.Helper()
	c := tool.Call{Server: id(name).Server, Tool: id(name).Name, Arguments: json.RawMessage(args)}
	if c.Tool == "" {
		c.Server, c.Tool = "", name
	}
	return call.New(w.o)(t.Context(), c)
}

func hang(ctx context.Context) (tool.Bytes, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func isError(s string) tool.Bytes {
	b, _ := json.Marshal(s)
	return tool.OneOf([]byte(`{"isError":true,"content":[{"type":"text","text":` + string(b) + `}]}`))
}

func notes(res *tool.Result) string {
	var parts []string
	for _, n := range res.Notes {
		parts = append(parts, n.Stage+": "+n.Text)
	}
	return strings.Join(parts, "\n")
}

func mapped(text string) *mapping.Template {
	t, err := mapping.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return t
}

func member(name string, on ...tool.Kind) call.Member { return call.Member{Tool: id(name), On: on} }

// TestFallbackConditions: each kind of failure of each kind of tool, with and
// without conditions. Nothing stands in where a write may have happened.
func TestFallbackConditions(t *testing.T) {
	all := []tool.Kind{tool.Unavailable, tool.Timeout, tool.Failed, tool.NotFound}
	lost, timeout, oops := errors.New("lost"), any(hang), &jsonrpc.Error{Code: -32603, Message: "oops"}
	for _, c := range []struct {
		tool   string
		answer any
		on     []tool.Kind
		falls  bool
	}{
		{"a/read", unavailable(), nil, true},
		{"a/read", lost, nil, true},
		{"a/read", timeout, nil, true},
		{"a/read", isError("no"), nil, true},
		{"a/read", oops, nil, true},
		{"a/read", &jsonrpc.Error{Code: -32602, Message: "bad"}, nil, false},
		{"a/read", &tool.Error{Kind: tool.Denied, Text: "no"}, nil, false},
		{"a/read", context.Canceled, nil, false},
		{"a/read", unavailable(), []tool.Kind{tool.Failed}, false},
		{"a/read", isError("no"), []tool.Kind{tool.Failed}, true},
		{"a/w_rite", unavailable(), nil, true},
		{"a/w_rite", httpError{status: 429}, nil, true},
		{"a/w_rite", lost, all, false},
		{"a/w_rite", timeout, all, false},
		{"a/w_rite", isError("no"), all, false},
		{"a/w_rite", oops, all, false},
		{"a/i_dempotent", unavailable(), nil, true},
		{"a/i_dempotent", lost, all, false},
		{"a/i_dempotent", timeout, all, false},
	} {
		t.Run(fmt.Sprintf("%s %v %v", c.tool, c.answer, c.on), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer := c.answer
				if f, ok := answer.(func(context.Context) (tool.Bytes, error)); ok {
					answer = f
				}
				w := newWorld(map[string]any{c.tool: answer, "b/read": "from b"}, call.Fallback{Match: match(c.tool), Members: []call.Member{member("b/read", c.on...)}})
				res := w.call(t, c.tool, `{"x":1}`)
				if falls := res.Kind == ""; falls != c.falls || len(w.sent) != 1+map[bool]int{true: 1}[c.falls] {
					t.Fatalf("%q after %v: %s", res.Kind, w.sent, res.Text())
				}
				if c.falls && (res.Server != "b" || res.Text() != "from b" || res.Attempts != 2 || !strings.Contains(notes(res), "fallback: answered by b/read, because "+c.tool+" failed (")) {
					t.Errorf("%s %d attempts, %s", res.Text(), res.Attempts, notes(res))
				}
				if !c.falls && len(res.Notes) != 0 {
					t.Errorf("notes %v", res.Notes)
				}
			})
		})
	}
}

// TestFallbackFailsToo: the first error stays the answer.
func TestFallbackFailsToo(t *testing.T) {
	w := newWorld(
		map[string]any{"a/read": isError("the first error"), "b/read": isError("no b"), "c/read": unavailable()},
		call.Fallback{Match: match("a/read"), Members: []call.Member{member("b/read"), member("c/read"), member("b/read"), member("a/read"), member("gone/read"), member("b/other")}},
	)
	res := w.call(t, "a/read", "")
	if res.Kind != tool.Failed || res.Text() != "the first error" || res.Server != "a" || res.Tool != "read" || res.Attempts != 3 {
		t.Errorf("%q of %s/%s after %d attempts: %s", res.Kind, res.Server, res.Tool, res.Attempts, res.Text())
	}
	for _, want := range []string{"no other tool answered: ", "b/read failed (failed): no b", "c/read failed (unavailable)", "b/read was passed over: it was tried", "gone/read was passed over: there is no server gone", "b/other failed (not_found)"} {
		if !strings.Contains(notes(res), want) {
			t.Errorf("notes lack %q: %s", want, notes(res))
		}
	}
	if len(w.sent) != 3 {
		t.Errorf("sent %v", w.sent)
	}
}

// TestFallbackStopsAtAWrite: where a substitute may have written, its own error is
// the answer, and nothing else is tried.
func TestFallbackStopsAtAWrite(t *testing.T) {
	w := newWorld(
		map[string]any{"a/read": unavailable(), "b/w_rite": errors.New("lost"), "c/read": "c"},
		call.Fallback{Match: match("a/read"), Members: []call.Member{member("b/w_rite"), member("c/read")}},
	)
	if res := w.call(t, "a/read", ""); res.Kind != tool.OutcomeUnknown || res.Tool != "w_rite" || len(w.sent) != 2 || !strings.Contains(notes(res), "a/read failed") {
		t.Errorf("%q of %s after %v: %s", res.Kind, res.Tool, w.sent, notes(res))
	}
}

// TestFallbackIsAllowedLikeAnyOther: what is refused is refused as a substitute.
func TestFallbackIsAllowedLikeAnyOther(t *testing.T) {
	w := newWorld(
		map[string]any{"a/read": unavailable(), "b/read": "secret", "c/read": "from c"},
		call.Fallback{Match: match("a/read"), Members: []call.Member{member("b/read"), member("c/read")}},
	)
	w.shelf.black = id("b/read")
	res := w.call(t, "a/read", "")
	if res.Text() != "from c" || !strings.Contains(notes(res), "b/read was passed over: it is not allowed") || len(w.sent) != 2 {
		t.Errorf("%s after %v: %s", res.Text(), w.sent, notes(res))
	}
}

// TestGroup: a group is a name to call, and its members stand in for each other.
func TestGroup(t *testing.T) {
	group := call.Fallback{Group: "web_search", Members: []call.Member{
		{Tool: id("searx/search")},
		{Tool: tool.ID{Server: "ddg"}}, // its tool of the group's name
		{Tool: id("brave/query"), Arguments: mapped(`{"text":"${arguments.q}","n":3}`)},
	}}
	for _, c := range []struct {
		name    string
		call    string
		answers map[string]any
		down    string
		want    string
		sent    []string
		notes   []string
	}{
		{"the first", "web_search", map[string]any{"searx/search": "searx", "ddg/web_search": "ddg"}, "", "searx", []string{`searx/search {"name":"search","arguments":{"q":"x"}}`}, nil},
		{"the second", "web_search", map[string]any{"searx/search": isError("captcha"), "ddg/web_search": "ddg"}, "", "ddg", []string{"searx/search", `ddg/web_search {"name":"web_search","arguments":{"q":"x"}}`}, []string{"answered by ddg/web_search, because searx/search failed (failed): captcha"}},
		{"the third, mapped", "web_search", map[string]any{"searx/search": isError("captcha"), "ddg/web_search": unavailable(), "brave/query": "brave"}, "", "brave", []string{"searx/search", "ddg/web_search", `brave/query {"name":"query","arguments":{"n":3,"text":"x"}}`}, nil},
		{"not there", "web_search", map[string]any{"brave/query": "brave"}, "", "brave", []string{"brave/query"}, []string{"searx/search was passed over: there is no server searx"}},
		{"down", "web_search", map[string]any{"searx/search": "searx", "ddg/web_search": "ddg"}, "searx", "ddg", []string{"ddg/web_search"}, []string{"searx/search was passed over: its server is down (no key)"}},
		{"none", "web_search", map[string]any{"searx/search": "searx"}, "searx", "No tool of the group web_search can be had now", nil, nil},
		{"a member", "ddg/web_search", map[string]any{"searx/search": "searx", "ddg/web_search": unavailable()}, "", "searx", []string{"ddg/web_search", "searx/search"}, nil},
		{"a member with arguments of its own", "brave/query", map[string]any{"searx/search": "searx", "brave/query": unavailable()}, "", "server s is unavailable: gone.", []string{"brave/query"}, nil},
		{"a tool of the name, on its server", "other/web_search", map[string]any{"searx/search": "searx", "other/web_search": "other"}, "", "other", []string{"other/web_search"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(c.answers, group)
			w.o.Health = func(server string) call.Health { return call.Health{Down: server == c.down, Reason: "no key"} }
			res := w.call(t, c.call, `{"q":"x"}`)
			if !strings.HasPrefix(res.Text(), c.want) || len(w.sent) != len(c.sent) {
				t.Fatalf("%q: %s after %v", res.Kind, res.Text(), w.sent)
			}
			for i, want := range c.sent {
				if !strings.HasPrefix(w.sent[i], want) {
					t.Errorf("sent %s, want %s", w.sent[i], want)
				}
			}
			for _, want := range c.notes {
				if !strings.Contains(notes(res), want) {
					t.Errorf("notes lack %q: %s", want, notes(res))
				}
			}
		})
	}
}

// TestFallbackKeepsTheParams: what an MCP client sent beside the arguments reaches
// the substitute too.
func TestFallbackKeepsTheParams(t *testing.T) {
	w := newWorld(map[string]any{"a/read": unavailable(), "b/get": "b"}, call.Fallback{Match: match("a/read"), Members: []call.Member{
		{Tool: id("b/get"), Arguments: mapped(`{"uri":"${arguments.url}","deep":{"all":["${arguments.n}","${arguments.none}"],"t":"<${arguments.url}|${arguments.n}|${arguments.none}> $${arguments.url}"},"none":"${arguments.none}"}`)},
	}})
	const args = `{"url":"http://x/\"","n":9007199254740993}`
	res := call.New(w.o)(t.Context(), tool.Call{Server: "a", Tool: "read", Arguments: json.RawMessage(args), Params: json.RawMessage(`{"_meta":{"x":1},"name":"a__read","arguments":` + args + `}`)})
	want := `b/get {"_meta":{"x":1},"name":"a__read","arguments":{"deep":{"all":[9007199254740993],"t":"\u003chttp://x/\"|9007199254740993|\u003e ${arguments.url}"},"uri":"http://x/\""}}`
	if res.Text() != "b" || w.sent[1] != want {
		t.Errorf("%s\nsent %s\nwant %s", res.Text(), w.sent[1], want)
	}
}

// TestFallbackSharesTheTime: the first tool does not eat all of it, unless nothing
// can follow.
func TestFallbackSharesTheTime(t *testing.T) {
	for _, c := range []struct {
		name      string
		a, b      any
		tool      string
		timeout   time.Duration // the caller's
		own       time.Duration // of the tool
		want      time.Duration
		wantTexts string
	}{
		{name: "default", tool: "a/read", a: hang, b: hang, want: 900 * time.Second, wantTexts: "within 5m0s"},
		{name: "the caller's", tool: "a/read", timeout: 30 * time.Second, a: hang, b: hang, want: 30 * time.Second, wantTexts: "within 10s"},
		{name: "the second answers", tool: "a/read", timeout: 30 * time.Second, a: hang, b: "b", want: 10 * time.Second, wantTexts: "b"},
		{name: "the tool's own timeout", tool: "a/read", own: time.Minute, a: hang, b: "b", want: time.Minute, wantTexts: "b"},
		{name: "a longer one", tool: "a/read", own: 30 * time.Minute, a: hang, b: "b", want: 30 * time.Minute, wantTexts: "b"},
		{name: "a write has all", tool: "a/w_rite", timeout: 30 * time.Second, a: hang, b: "b", want: 30 * time.Second, wantTexts: "within 30s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(map[string]any{c.tool: c.a, "b/read": c.b, "c/read": hang}, call.Fallback{Match: match(c.tool), Members: []call.Member{member("b/read"), member("c/read")}})
				for i := range w.shelf.tools {
					if w.shelf.tools[i].ID == id(c.tool) {
						w.shelf.tools[i].Meta.Timeout = c.own
					}
				}
				began := time.Now()
				res := call.New(w.o)(t.Context(), tool.Call{Server: "a", Tool: id(c.tool).Name, Timeout: c.timeout})
				if took := time.Since(began); took != c.want || !strings.Contains(res.Text(), c.wantTexts) {
					t.Errorf("%q after %s, want %s: %s (%s)", res.Kind, took, c.want, res.Text(), notes(res))
				}
			})
		})
	}
}

// TestProgressOfASubstitute moves both deadlines.
func TestProgressOfASubstitute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]any{"a/read": unavailable(), "b/read": "b", "c/read": "c"}, call.Fallback{Match: match("a/read"), Members: []call.Member{member("b/read"), member("c/read")}})
		send := w.o.Send
		w.o.Send = func(ctx context.Context, r *call.Request, params []byte) (tool.Bytes, error) {
			if r.Target.Server == "b" {
				for range 10 {
					select {
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					case <-time.After(5 * time.Minute):
						r.ProgressFunc()(tool.OneOf([]byte(`{"progress":1}`)))
					}
				}
			}
			return send(ctx, r, params)
		}
		if res := w.call(t, "a/read", ""); res.Text() != "b" {
			t.Errorf("%s: %s", res.Text(), notes(res))
		}
	})
}

// TestQuotas: a member that said that its quota or its rate is used up is tried
// last for a while.
func TestQuotas(t *testing.T) {
	for _, c := range []struct {
		name string
		err  any
		wait time.Duration
	}{
		{"429", httpError{status: 429}, time.Minute},
		{"429 with a wait", httpError{429, 5 * time.Minute}, 5 * time.Minute},
		{"402", httpError{status: 402}, 10 * time.Minute},
		{"text of a rate limit", isError("Error: rate limit exceeded, slow down"), time.Minute},
		{"text of a quota", isError("Your monthly quota is exceeded"), 10 * time.Minute},
		{"text of credits", isError("Insufficient credits"), 10 * time.Minute},
		{"a status in a text", isError("request failed with status code 429"), time.Minute},
		{"no quota", isError("the page does not exist"), 0},
		{"no quota either", isError("order 429 is unknown to the quotation service"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(map[string]any{"a/read": c.err, "b/read": "b"}, call.Fallback{Group: "g", Members: []call.Member{member("a/read"), member("b/read")}})
				run := call.New(w.o)
				limited := func() bool {
					w.sent = nil
					res := run(t.Context(), tool.Call{Tool: "g"})
					if res.Text() != "b" {
						t.Fatalf("%s %s", res.Text(), notes(res))
					}
					return strings.HasPrefix(w.sent[0], "b/")
				}
				if limited() {
					t.Fatal("b was first")
				}
				if limited() != (c.wait > 0) {
					t.Errorf("after it said so: limited %v", c.wait == 0)
				}
				if c.wait == 0 {
					return
				}
				time.Sleep(c.wait - time.Millisecond)
				if !limited() {
					t.Error("forgotten too early")
				}
				time.Sleep(2 * time.Millisecond)
				if limited() {
					t.Error("remembered for too long")
				}
				// Last is not never.
				w.answers["b/read"], w.answers["a/read"] = isError("b is broken"), "a"
				if res := run(t.Context(), tool.Call{Tool: "g"}); res.Text() != "a" || !strings.Contains(notes(res), "b/read failed") {
					t.Errorf("%s: %s", res.Text(), notes(res))
				}
			})
		})
	}
}

// TestFallbackWithKey: a call that a substitute answered is answered by it again,
// also when the tool that was called is back.
func TestFallbackWithKey(t *testing.T) {
	w := newWorld(map[string]any{"a/w_rite": unavailable(), "b/w_rite": "b"}, call.Fallback{Match: match("a/w_rite"), Members: []call.Member{member("b/w_rite")}})
	run := call.New(w.o)
	c := tool.Call{Server: "a", Tool: "w_rite", IdempotencyKey: "k"}
	first := run(t.Context(), c)
	w.answers["a/w_rite"] = "a"
	second := run(t.Context(), c)
	if first.Text() != "b" || second.Text() != "b" || len(w.sent) != 2 || !strings.Contains(notes(second), "ledger: already done") {
		t.Errorf("%s, then %s, after %v: %s", first.Text(), second.Text(), w.sent, notes(second))
	}
}

// TestPages is the built-in fallback of tools that scrape.
func TestPages(t *testing.T) {
	const url = `{"url":"https://example.com/page"}`
	registered := tool.Meta{Registered: true}
	for _, c := range []struct {
		name    string
		args    string
		scrape  any
		others  map[string]any
		meta    *tool.Meta
		fetch   string // what the direct fetch gives; "" fails
		want    string
		fetched bool
	}{
		{name: "answers", args: url, scrape: "page", want: "page"},
		{name: "lost", args: url, scrape: errors.New("lost"), others: map[string]any{"reading/convert_to_markdown": "converted"}, want: "converted"},
		{name: "at the site", args: url, scrape: isError("403"), others: map[string]any{"reading/convert_to_markdown": "converted"}, want: "converted"},
		{name: "another server converts", args: url, scrape: isError("403"), others: map[string]any{"docs/convert_to_markdown": "converted"}, want: "converted"},
		{name: "nobody converts", args: url, scrape: isError("403"), fetch: "fetched", want: "fetched", fetched: true},
		{name: "the converter fails too", args: url, scrape: isError("403"), others: map[string]any{"reading/convert_to_markdown": isError("no")}, fetch: "fetched", want: "fetched", fetched: true},
		{name: "all fail", args: url, scrape: isError("403"), want: "403", fetched: true},
		{name: "no address", args: `{"site":"x"}`, scrape: isError("no url"), fetch: "fetched", want: "no url"},
		{name: "a file", args: `{"url":"file:///etc/passwd"}`, scrape: isError("no file"), fetch: "fetched", want: "no file"},
		{name: "declared not to read", args: url, scrape: isError("403"), meta: &registered, fetch: "fetched", want: "403"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answers := map[string]any{"foreign/scrape": c.scrape}
			maps.Copy(answers, c.others)
			w := newWorld(answers)
			for i := range w.shelf.tools {
				if c.meta != nil && w.shelf.tools[i].Name == "scrape" {
					w.shelf.tools[i].Meta = *c.meta
				}
			}
			fetched := false
			w.o.Fetch = func(_ context.Context, url string, refuse func(string) error) (string, error) {
				fetched = true
				if url != "https://example.com/page" || refuse(url) != nil {
					t.Errorf("fetches %s", url)
				}
				if c.fetch == "" {
					return "", errors.New("no such host")
				}
				return c.fetch, nil
			}
			res := w.call(t, "foreign/scrape", c.args)
			if res.Text() != c.want || fetched != c.fetched {
				t.Errorf("%q, fetched %v: %s", res.Text(), fetched, notes(res))
			}
			if c.fetch != "" && fetched && (res.Server != "tenon" || !strings.Contains(notes(res), "answered by the direct fetch, because foreign/scrape failed (failed): 403")) {
				t.Errorf("%s: %s", res.Server, notes(res))
			}
			if len(c.others) > 0 && !strings.Contains(w.sent[1], `"arguments":{"uri":"https://example.com/page"}`) {
				t.Errorf("sent %v", w.sent)
			}
		})
	}
	t.Run("turned off", func(t *testing.T) {
		w := newWorld(map[string]any{"foreign/scrape": isError("403")}, call.Fallback{Match: match("foreign/scrape")})
		w.o.Fetch = func(context.Context, string, func(string) error) (string, error) { return "fetched", nil }
		if res := w.call(t, "foreign/scrape", url); res.Text() != "403" || len(res.Notes) > 0 {
			t.Errorf("%s %s", res.Text(), notes(res))
		}
	})
}

// TestFallbackAfterRetries: a tool that is idempotent may have run in the attempt
// that was lost, although the last one never left.
func TestFallbackAfterRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]any{"a/i_dempotent": "", "b/read": "b"}, call.Fallback{Match: match("a/i_dempotent"), Members: []call.Member{member("b/read")}})
		w.o.Retry = call.Retry{Attempts: 2}
		errs := []error{errors.New("lost"), unavailable()}
		w.o.Send = func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
			if len(errs) == 0 {
				t.Error("something else was called")
				return text("b"), nil
			}
			err := errs[0]
			errs = errs[1:]
			return nil, err
		}
		if res := w.call(t, "a/i_dempotent", ""); res.Kind != tool.Unavailable || len(errs) != 0 {
			t.Errorf("%q: %s", res.Kind, res.Text())
		}
	})
}

// TestFallbackDoesNotWait: where another tool can answer, nobody waits for a server
// that is down.
func TestFallbackDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]any{"a/read": unavailable(), "b/read": "b"}, call.Fallback{Match: match("a/read"), Members: []call.Member{member("b/read")}})
		w.o.Retry = call.Retry{}
		next := time.Now().Add(2 * time.Second)
		w.o.Health = func(server string) call.Health { return call.Health{Down: server == "a", NextTry: next} }
		began := time.Now()
		if res := w.call(t, "a/read", ""); res.Text() != "b" || time.Since(began) != 0 {
			t.Errorf("%s after %s", res.Text(), time.Since(began))
		}
	})
}
