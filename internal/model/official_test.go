package model_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
)

// official checks values against the schemas of OpenAI's own description of its API.
type official struct {
	compiler *jsonschema.Compiler
}

func newOfficial(t *testing.T) *official {
	t.Helper()
	b, err := os.ReadFile(testenv.Vectors(t, "api", "openai.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// Of 3 MB, the schemas are half, and end at the next section.
	_, schemas, ok := strings.Cut(string(b), "\n  schemas:\n")
	if !ok {
		t.Fatal("no schemas")
	}
	if i := strings.Index(schemas, "\n  securitySchemes:"); i >= 0 {
		schemas = schemas[:i]
	}
	// The reader takes seconds for all, so it gets those that are needed.
	needed, all := map[string]any{}, map[string]string{}
	name := ""
	for line := range strings.Lines(schemas) {
		if strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "     ") && strings.HasSuffix(strings.TrimSpace(line), ":") {
			name = strings.Trim(strings.TrimSpace(line), ":'\"")
		}
		all[name] += line
	}
	var need func(name string)
	need = func(name string) {
		if _, ok := needed[name]; ok {
			return
		}
		var v map[string]any
		if err := yaml.Unmarshal([]byte(all[name]), &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		needed[name] = asJSONSchema(v[name])
		j, err := json.Marshal(v[name])
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(j), `"#/components/schemas/`)[1:] {
			ref, _, _ := strings.Cut(part, `"`)
			need(ref)
		}
	}
	for _, root := range []string{
		"CreateChatCompletionRequest", "CreateChatCompletionResponse", "CreateChatCompletionStreamResponse", "ErrorResponse",
		"CreateTranscriptionRequest", "CreateTranscriptionResponseJson",
	} {
		need(root)
	}
	j, err := json.Marshal(map[string]any{"components": map[string]any{"schemas": needed}})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(j))
	if err != nil {
		t.Fatal(err)
	}
	o := &official{jsonschema.NewCompiler()}
	if err := o.compiler.AddResource("openai.json", doc); err != nil {
		t.Fatal(err)
	}
	return o
}

// asJSONSchema leaves out bounds that are no 64-bit numbers, which the reader of YAML
// takes for texts, and makes nullable what the version 3.0 of OpenAPI calls so.
func asJSONSchema(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if kind, ok := v["type"].(string); ok && v["nullable"] == true {
			v["type"] = []any{kind, "null"}
			if list, ok := v["enum"].([]any); ok {
				v["enum"] = append(list, nil)
			}
		}
		for name, w := range v {
			if _, isText := w.(string); isText && (name == "minimum" || name == "maximum") {
				delete(v, name)
				continue
			}
			v[name] = asJSONSchema(w)
		}
	case []any:
		for i := range v {
			v[i] = asJSONSchema(v[i])
		}
	}
	return v
}

func (o *official) check(t *testing.T, schema string, body []byte) {
	t.Helper()
	s, err := o.compiler.Compile("openai.json#/components/schemas/" + schema)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v: %s", schema, err, body)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s: %v\n%s", schema, err, body)
	}
}

// TestOfficialDescription holds the client and its double to OpenAI's own description.
func TestOfficialDescription(t *testing.T) {
	o := newOfficial(t)
	d := doubles.OpenAI()
	c := client(t, model.OpenAI, d, "gpt-4o")
	half := 0.5
	for _, streams := range []bool{false, true} {
		r := ask(model.Request{System: "Be brief.", Temperature: &half, TopP: &half, Stops: []string{"END", "\n"}, Stream: streams},
			model.Text("What?"), model.File("image/png", []byte(png)), model.File("audio/wav", []byte("RIFFxxxxWAVE")))
		if _, err := c.Ask(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Transcribe(t.Context(), model.Recording{Name: "a.wav", MIME: "audio/wav", Data: []byte("RIFF"), Language: "en", Prompt: "x"}); err != nil {
		t.Fatal(err)
	}
	calls := d.Calls()
	for i, call := range calls {
		to := c.BaseURL + strings.TrimPrefix(call.Path, "/v1/")
		body := replay(t, to, call, 200)
		if i < 2 {
			o.check(t, "CreateChatCompletionRequest", call.Body)
		}
		switch i {
		case 0:
			o.check(t, "CreateChatCompletionResponse", body)
		case 1:
			for line := range strings.Lines(string(body)) {
				if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: {"); ok {
					o.check(t, "CreateChatCompletionStreamResponse", []byte("{"+data))
				}
			}
		case 2:
			o.check(t, "CreateTranscriptionRequest", formAsJSON(t, call))
			o.check(t, "CreateTranscriptionResponseJson", body)
		}
	}
	for _, final := range []bool{false, true} {
		o.check(t, "CreateChatCompletionRequest", talked(t, model.OpenAI, "/v1", final))
	}
	for _, status := range []int{400, 401, 429, 500} {
		d.Fail(doubles.Fault{Status: status, Times: 1})
		o.check(t, "ErrorResponse", replay(t, c.BaseURL+"chat/completions", calls[0], status))
	}
}

// replay makes a request again, and returns the answer.
func replay(t *testing.T, to string, call doubles.Call, status int) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), call.Method, to, bytes.NewReader(call.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = call.Header.Clone()
	req.Header.Del("Accept-Encoding")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Fatalf("%d, %v: %s", resp.StatusCode, err, body)
	}
	return body
}

func formAsJSON(t *testing.T, call doubles.Call) []byte {
	t.Helper()
	_, params, err := mime.ParseMediaType(call.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	form, err := multipart.NewReader(bytes.NewReader(call.Body), params["boundary"]).ReadForm(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	v := map[string]any{"file": "a file"}
	for name, values := range form.Value {
		v[name] = values[0]
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
