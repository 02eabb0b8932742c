package model_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
)

const png = "\x89PNG\r\n\x1a\nno more than a head"

// client returns a client of a double.
func client(t *testing.T, kind model.Kind, d *doubles.Double, name string) *model.Client {
	t.Helper()
	base := doubles.Start(t, d)
	out, err := egress.New(egress.Options{Server: "test", Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	service, err := out.Service(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	if kind == model.OpenAI {
		base += "/v1/"
	}
	return &model.Client{
		Kind: kind, HTTP: service, BaseURL: base, Name: name, Key: doubles.Key, KeyName: "SOME_API_KEY",
		Waits: []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond},
	}
}

type vendor struct {
	name   string
	kind   model.Kind
	double func() *doubles.Double
	model  string
}

var vendors = []vendor{
	{"openai", model.OpenAI, doubles.OpenAI, "gpt-4o"},
	{"anthropic", model.Anthropic, doubles.Anthropic, "claude-x"},
	{"gemini", model.Gemini, doubles.Gemini, "gemini-x"},
}

func ask(r model.Request, parts ...model.Part) model.Request {
	r.Parts = append(r.Parts, parts...)
	if r.MaxTokens == 0 {
		r.MaxTokens = 4096
	}
	return r
}

// TestStops: endpoints are told where to stop, and what is said beyond is left out.
func TestStops(t *testing.T) {
	for _, v := range vendors {
		d := v.double()
		a, err := client(t, v.kind, d, v.model).Ask(t.Context(), ask(model.Request{Stops: []string{" ", "END", "Q1", "Q2", "Q3", "Q4", "Q5"}}, model.Text("Well. END more")))
		field := map[model.Kind]string{model.OpenAI: `"stop":["END","Q1","Q2","Q3"]`, model.Anthropic: `"stop_sequences":["END",`, model.Gemini: `"stopSequences":["END","Q1","Q2","Q3","Q4"]`}[v.kind]
		if body := string(d.Calls()[0].Body); err != nil || a.Text != "Well." || !a.Stopped || !strings.Contains(body, field) {
			t.Errorf("%v, %+v, asked %s", err, a, body)
		}
	}
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked++
		if strings.Contains(string(body), `"stop"`) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error": {"message": "Unsupported parameter: 'stop' is not supported with this model.", "param": "stop"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices": [{"message": {"role": "assistant", "content": "one END two"}, "finish_reason": "stop"}]}`)
	}))
	defer srv.Close()
	out, err := egress.New(egress.Options{Server: "test", Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	service, err := out.Service(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	c := &model.Client{HTTP: service, BaseURL: srv.URL, Name: "thinks"}
	if a, err := c.Ask(t.Context(), ask(model.Request{Stops: []string{"END"}}, model.Text("x"))); err != nil || a.Text != "one" || asked != 2 {
		t.Errorf("%v, %+v, asked %d times", err, a, asked)
	}
}

func TestAsk(t *testing.T) {
	for _, v := range vendors {
		for _, streams := range []bool{false, true} {
			c := client(t, v.kind, v.double(), v.model)
			prices, err := model.ParsePrices([]string{"other=9/9", v.model + "=1/10"})
			if err != nil {
				t.Fatal(err)
			}
			c.Prices = prices
			grown := 0
			a, err := c.Ask(t.Context(), ask(model.Request{System: "Be brief.", Stream: streams, OnText: func(n int) { grown = n }},
				model.Text("What is “this”?"), model.File("image/png", []byte(png))))
			if err != nil {
				t.Fatalf("%s, stream %v: %v", v.name, streams, err)
			}
			if !strings.Contains(a.Text, "What is “this”?") || !strings.Contains(a.Text, "[image/png of 27 bytes]") {
				t.Errorf("%s, stream %v: %q", v.name, streams, a.Text)
			}
			u := a.Usage
			if u.Input != 100 || u.Output != 20 || u.Requests != 1 || !strings.HasPrefix(u.Model, v.model) || u.Cost == nil || *u.Cost < 0.000299 || *u.Cost > 0.000301 {
				t.Errorf("%s, stream %v: usage %+v", v.name, streams, u)
			}
			if streams && grown < 20 {
				t.Errorf("%s: told of %d characters", v.name, grown)
			}
		}
	}
}

func TestThinking(t *testing.T) {
	for _, v := range vendors[1:] {
		for _, streams := range []bool{false, true} {
			d := v.double()
			a, err := client(t, v.kind, d, v.model).Ask(t.Context(), ask(model.Request{Thinking: 2000, Stream: streams}, model.Text("Why?")))
			if err != nil || a.Text != "Why?" || a.Reasoning != "Let me see." {
				t.Errorf("%s, stream %v: %+v, %v", v.name, streams, a, err)
			}
			if body := string(d.Calls()[0].Body); !strings.Contains(body, "2000") {
				t.Errorf("%s: asked %s", v.name, body)
			}
		}
	}
	d := doubles.OpenAI()
	d.Fail(doubles.Fault{Warning: "I think."})
	for _, streams := range []bool{false, true} {
		a, err := client(t, model.OpenAI, d, "a-reasoner").Ask(t.Context(), ask(model.Request{Stream: streams}, model.Text("Why?")))
		if err != nil || a.Text != "Why?" || a.Reasoning != "I think." {
			t.Errorf("stream %v: %+v, %v", streams, a, err)
		}
	}
}

// TestRetries meets each endpoint with faults that pass, and with faults that stay.
func TestRetries(t *testing.T) {
	for _, v := range vendors {
		for _, f := range []doubles.Fault{
			{Status: 408}, {Status: 409}, {Status: 429, RetryAfter: "0.01"}, {Status: 500}, {Status: 529}, {Truncated: true}, {BadJSON: true}, {Empty: true},
		} {
			for _, streams := range []bool{false, true} {
				d := v.double()
				f.Times = 2
				d.Fail(f)
				a, err := client(t, v.kind, d, v.model).Ask(t.Context(), ask(model.Request{Stream: streams}, model.Text("Well?")))
				if err != nil || a.Text != "Well?" || len(d.Calls()) != 3 {
					t.Errorf("%s, stream %v, %+v: %q after %d, %v", v.name, streams, f, a.Text, len(d.Calls()), err)
				}
			}
		}
	}
}

// TestPatience waits as long as an endpoint wants, and gives up where that is longer than
// the time that is left.
func TestPatience(t *testing.T) {
	d := doubles.OpenAI()
	d.Fail(doubles.Fault{Status: 429, RetryAfter: "0.4", Times: 1})
	start := time.Now()
	if _, err := client(t, model.OpenAI, d, "gpt-4o").Ask(t.Context(), ask(model.Request{}, model.Text("Well?"))); err != nil || time.Since(start) < 400*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	d.Fail(doubles.Fault{Slow: time.Minute})
	cause := errors.New("it took longer than was set")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, cause)
	defer cancel()
	if _, err := client(t, model.OpenAI, d, "gpt-4o").Ask(ctx, ask(model.Request{}, model.Text("Well?"))); !errors.Is(err, cause) {
		t.Error(err)
	}
}

// TestUnreachable asks where nobody listens, which may pass, and where nobody may ask.
func TestUnreachable(t *testing.T) {
	c := client(t, model.OpenAI, doubles.OpenAI(), "gpt-4o")
	other := client(t, model.OpenAI, doubles.OpenAI(), "gpt-4o")
	c.BaseURL = other.BaseURL
	if _, err := c.Ask(t.Context(), ask(model.Request{}, model.Text("Well?"))); err == nil || !strings.Contains(err.Error(), "is not the service") {
		t.Error(err)
	}
	for _, base := range []string{"", "nonsense", "http://\x00"} {
		c.BaseURL = base
		if _, err := c.Ask(t.Context(), ask(model.Request{}, model.Text("Well?"))); err == nil || strings.Contains(err.Error(), doubles.Key) {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, v := range vendors {
		for _, c := range []struct {
			fault doubles.Fault
			calls int
			want  string
		}{
			{doubles.Fault{Status: 401}, 1, "check SOME_API_KEY"},
			{doubles.Fault{Status: 402}, 1, "no credit left"},
			{doubles.Fault{Status: 403}, 1, "may not use this model"},
			{doubles.Fault{Status: 404}, 1, "no such model or address"},
			{doubles.Fault{Status: 413}, 1, "smaller or shorter file"},
			{doubles.Fault{Status: 400}, 1, "does not take this request"},
			{doubles.Fault{Status: 500}, 4, "4 times: it has a fault"},
			{doubles.Fault{Status: 429, RetryAfter: "3600"}, 1, "wait a minute"},
			{doubles.Fault{Empty: true}, 3, "without text"},
		} {
			d := v.double()
			d.Fail(c.fault)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := client(t, v.kind, d, v.model).Ask(ctx, ask(model.Request{}, model.Text("Well?")))
			cancel()
			if err == nil || !strings.Contains(err.Error(), c.want) || len(d.Calls()) != c.calls || strings.Contains(err.Error(), doubles.Key) {
				t.Errorf("%s, %+v: %d calls, %v", v.name, c.fault, len(d.Calls()), err)
			}
		}
	}
}

// TestFilters asks what vendors do not answer.
func TestFilters(t *testing.T) {
	for _, c := range []struct {
		vendor vendor
		fault  doubles.Fault
		stream bool
		want   string
	}{
		{vendors[0], doubles.Fault{Code: "content_filter"}, false, "held its answer back"},
		{vendors[0], doubles.Fault{Code: "content_filter"}, true, "held its answer back"},
		{vendors[0], doubles.Fault{Status: 429, Code: "insufficient_quota"}, false, "no credit left"},
		{vendors[1], doubles.Fault{Code: "refusal"}, true, "declines"},
		{vendors[1], doubles.Fault{Code: "max_tokens", Empty: true}, false, "used all tokens"},
		{vendors[1], doubles.Fault{Warning: "invalid_request_error"}, true, "broke its answer off"},
		{vendors[2], doubles.Fault{Code: "SAFETY"}, false, "held its answer back (SAFETY)"},
		{vendors[2], doubles.Fault{Warning: "PROHIBITED_CONTENT"}, true, "PROHIBITED_CONTENT"},
	} {
		d := c.vendor.double()
		d.Fail(c.fault)
		_, err := client(t, c.vendor.kind, d, c.vendor.model).Ask(t.Context(), ask(model.Request{Stream: c.stream}, model.Text("Well?")))
		if err == nil || !strings.Contains(err.Error(), c.want) || len(d.Calls()) != 1 {
			t.Errorf("%s, %+v: %d calls, %v", c.vendor.name, c.fault, len(d.Calls()), err)
		}
	}
	d := doubles.Anthropic()
	d.Fail(doubles.Fault{Warning: "overloaded_error", Times: 1})
	a, err := client(t, model.Anthropic, d, "claude-x").Ask(t.Context(), ask(model.Request{Stream: true}, model.Text("Well?")))
	if err != nil || a.Text != "Well?" || len(d.Calls()) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestMaxTokens asks a model that takes the newer field alone.
func TestMaxTokens(t *testing.T) {
	d := doubles.OpenAI()
	a, err := client(t, model.OpenAI, d, "o3").Ask(t.Context(), ask(model.Request{}, model.Text("Well?")))
	if err != nil || a.Text != "Well?" || len(d.Calls()) != 2 {
		t.Fatalf("%+v, %v", a, err)
	}
	c := client(t, model.OpenAI, d, "o3")
	c.MaxTokensField = "max_completion_tokens"
	if _, err := c.Ask(t.Context(), ask(model.Request{}, model.Text("Well?"))); err != nil || len(d.Calls()) != 3 {
		t.Errorf("%v after %d", err, len(d.Calls()))
	}
	a, err = client(t, model.OpenAI, d, "gpt-4o").Ask(t.Context(), ask(model.Request{MaxTokens: 2}, model.Text("A longer question")))
	if err != nil || !a.Cut || a.Text != "A longer" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestWholeAddress takes the address of the endpoint for a base URL.
func TestWholeAddress(t *testing.T) {
	for _, c := range []struct {
		vendor vendor
		path   string
	}{
		{vendors[0], "chat/completions"}, {vendors[1], "/v1/messages"}, {vendors[1], "/v1"}, {vendors[2], "/v1beta"}, {vendors[0], "chat/completions?api-version=1"},
	} {
		client := client(t, c.vendor.kind, c.vendor.double(), c.vendor.model)
		client.BaseURL += c.path
		if a, err := client.Ask(t.Context(), ask(model.Request{}, model.Text("Well?"))); err != nil || a.Text != "Well?" {
			t.Errorf("%s: %v", client.BaseURL, err)
		}
	}
}

func TestTranscribe(t *testing.T) {
	for name, want := range map[string]model.Usage{
		"gpt-4o-transcribe": {Provider: "OpenAI", Model: "gpt-4o-transcribe", Requests: 1, Input: 50, Output: 10},
		"whisper-1":         {Provider: "OpenAI", Model: "whisper-1", Requests: 1, Seconds: 30},
	} {
		d := doubles.OpenAI()
		d.Fail(doubles.Fault{Status: 503, Times: 1})
		c := client(t, model.OpenAI, d, name)
		got, err := c.Transcribe(t.Context(), model.Recording{Name: "speech.wav", MIME: "audio/wav", Data: make([]byte, 1234), Language: "en", Prompt: "Before."})
		if err != nil || got.Text != "[speech.wav of 1234 bytes]" || got.Usage != want || len(d.Calls()) != 2 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	d := doubles.OpenAI()
	d.Fail(doubles.Fault{Status: 401, Times: 1}, doubles.Fault{Empty: true, Times: 1})
	c := client(t, model.OpenAI, d, "whisper-1")
	r := model.Recording{Name: "a.mp3", MIME: "audio/mpeg", Data: []byte("x")}
	if _, err := c.Transcribe(t.Context(), r); err == nil || !strings.Contains(err.Error(), "SOME_API_KEY") {
		t.Error(err)
	}
	if got, err := c.Transcribe(t.Context(), r); err != nil || got.Text != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestCancel ends a call while the endpoint is silent, and while it is waited for.
func TestCancel(t *testing.T) {
	for _, v := range vendors {
		for _, f := range []doubles.Fault{{Slow: time.Minute}, {Status: 429, RetryAfter: "50"}} {
			d := v.double()
			d.Fail(f)
			ctx, cancel := context.WithCancel(t.Context())
			stop := time.AfterFunc(50*time.Millisecond, cancel)
			start := time.Now()
			_, err := client(t, v.kind, d, v.model).Ask(ctx, ask(model.Request{}, model.Text("Well?")))
			stop.Stop()
			cancel()
			if err == nil || !strings.Contains(err.Error(), "canceled") || time.Since(start) > 30*time.Second {
				t.Errorf("%s: %v after %v", v.name, err, time.Since(start))
			}
		}
	}
}

func TestPrices(t *testing.T) {
	for _, bad := range []string{"x", "x=", "x=1", "=1/2", "x=-1/2", "x=1/NaN", "x=a/min"} {
		if p, err := model.ParsePrices([]string{bad}); err == nil {
			t.Errorf("%s: %v", bad, p)
		}
	}
}
