package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
)

type result struct {
	ID         string            `json:"id"`
	Server     string            `json:"server_name"`
	Tool       string            `json:"tool_name"`
	Result     *string           `json:"result"`
	Error      *string           `json:"error"`
	Kind       string            `json:"error_kind"`
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structured_content"`
	Notes      []any             `json:"notes"`
	Where      string            `json:"where"`
}

func decode[T any](t *testing.T, b []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return v
}

func TestCallPassesValuesAsTheyCame(t *testing.T) {
	srv := serve(t, pool(t))
	const arguments = `{"zeta":9007199254740993,"alpha":"<&> 語"}`
	status, body := do(t, srv, "POST", "/api/v1/calls", `{"server":"words","tool":"echo","arguments":`+arguments+`,"session":"s","task_id":"t","mode":"normal","timeout":"30s"}`)
	if status != 200 {
		t.Fatalf("status %d: %s", status, body)
	}
	r := decode[result](t, body)
	if r.Server != "words" || r.Tool != "echo" || r.ID == "" || r.Result == nil || r.Error != nil || r.Kind != "" {
		t.Errorf("got %s", body)
	}
	var text, structured any
	text, structured = decode[struct{ Text string }](t, r.Content[0]).Text, string(compact(t, r.Structured))
	if text != arguments || structured != arguments {
		t.Errorf("arguments came back as text %s and structured %s", text, structured)
	}
	if want := `{"type":"image","mimeType":"image/png","data":"cG5n"}`; string(r.Content[1]) != want {
		t.Errorf("image came as %s, want %s", r.Content[1], want)
	}
}

// compact undoes the \u003c that Go's encoder makes of <.
func compact(t *testing.T, raw json.RawMessage) json.RawMessage {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var zeta struct {
		Zeta  json.Number `json:"zeta"`
		Alpha string      `json:"alpha"`
	}
	if err := d.Decode(&zeta); err != nil {
		t.Fatal(err)
	}
	if err := e.Encode(zeta); err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(strings.TrimSpace(b.String()))
}

// Whatever becomes of a call, the status is 200 and the result object says it.
func TestCallErrorsAreResults(t *testing.T) {
	srv := serve(t, pool(t))
	for _, c := range []struct{ name, body, kind, text string }{
		{"the tool failed", `{"server":"words","tool":"fail"}`, "failed", "try echo"},
		{"no such tool", `{"server":"words","tool":"ecko"}`, "not_found", "echo"},
		{"no such server", `{"server":"nope","tool":"nope"}`, "not_found", ""},
		{"server is broken", `{"server":"broken","tool":"x"}`, "unavailable", "key is"},
		{"timeout", `{"server":"words","tool":"wait","timeout":0.05}`, "timeout", ""},
		{"timeout as text", `{"server":"words","tool":"wait","timeout":"50ms"}`, "timeout", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := do(t, srv, "POST", "/api/v1/calls", c.body)
			r := decode[result](t, body)
			if status != 200 || r.Kind != c.kind || r.Error == nil || r.Result != nil || !strings.Contains(*r.Error, c.text) {
				t.Errorf("got %d %s, want 200, %s and %q", status, body, c.kind, c.text)
			}
		})
	}
}

func TestBodyThatIsNoCall(t *testing.T) {
	gw := pool(t)
	srv := serve(t, gw)
	for _, c := range []struct{ name, path, body, where, text string }{
		{"empty", "calls", ``, "", "no JSON"},
		{"broken", "calls", `{"tool":"echo",}`, "", "byte 16"},
		{"no UTF-8", "calls", "{\"tool\":\"echo\",\"arguments\":{\"alpha\":\"caf\xe9\"}}", "", "not UTF-8"},
		{"two values", "calls", `{"tool":"echo"} {}`, "", "byte 17"},
		{"array", "calls", `[{"tool":"echo"}]`, "", "an object, not an array"},
		{"null", "calls", `null`, "", "an object, not null"},
		{"no tool", "calls", `{"server":"words"}`, "/tool_name", "missing"},
		{"empty tool", "calls", `{"server":"words","tool":""}`, "/tool_name", "missing"},
		{"unknown member", "calls", `{"server":"words","tool":"echo","args":{}}`, "/args", "known: server_name, tool_name (or server and tool), arguments"},
		{"member of another case", "calls", `{"server":"words","tool":"echo","Arguments":{}}`, "/Arguments", "known"},
		{"unknown member with a slash", "calls", `{"tool":"echo","a/b~":1}`, "/a~1b~0", "known"},
		{"two mistakes, the first is told", "calls", `{"tool":"echo","zz":1,"aa":1}`, "/zz", "known"},
		{"server of wrong type", "calls", `{"server":5,"tool":"echo"}`, "/server", "a string, not a number"},
		{"session of wrong type", "calls", `{"tool":"echo","session":["s"]}`, "/session", "a string, not an array"},
		{"arguments of wrong type", "calls", `{"tool":"echo","arguments":[1]}`, "/arguments", "an object, not an array"},
		{"arguments as text", "calls", `{"tool":"echo","arguments":"{\"alpha\":\"a\"}"}`, "/arguments", "parse"},
		{"timeout that is none", "calls", `{"tool":"echo","timeout":"soon"}`, "/timeout", "30s"},
		{"timeout below zero", "calls", `{"tool":"echo","timeout":-1}`, "/timeout", "above zero"},
		{"timeout of wrong type", "calls", `{"tool":"echo","timeout":true}`, "/timeout", "not true or false"},
		{"batch that is an array", "calls/batch", ` []`, "", `an object, not an array: write {"calls": […]}`},
		{"batch without calls", "calls/batch", `{}`, "/calls", "missing"},
		{"batch of null", "calls/batch", `{"calls":null}`, "/calls", "an array, not null"},
		{"batch with more", "calls/batch", `{"calls":[],"parallel":true}`, "/parallel", "known: calls"},
		{"mistake in a batch", "calls/batch", `{"calls":[{"tool":"echo"},{"tool":"echo","arguments":1}]}`, "/calls/1/arguments", "an object"},
		{"no object in a batch", "calls/batch", `{"calls":[{"tool":"echo"},7]}`, "/calls/1", "an object"},
		{"batch too long", "calls/batch", `{"calls":[` + strings.Repeat(`{"tool":"echo"},`, 1000) + `{"tool":"echo"}]}`, "/calls", "at most 1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := do(t, srv, "POST", "/api/v1/"+c.path, c.body)
			r := decode[result](t, body)
			if status != 400 || r.Kind != "invalid" || r.Where != c.where || r.Error == nil || !strings.Contains(*r.Error, c.text) {
				t.Errorf("got %d %s, want 400 at %q with %q", status, body, c.where, c.text)
			}
		})
	}
	if calls := gw.Calls(10); len(calls) > 0 {
		t.Errorf("calls were carried out: %v", calls)
	}
}

func TestBatchGivesOneResultEach(t *testing.T) {
	srv := serve(t, pool(t))
	_, body := do(t, srv, "POST", "/api/v1/calls/batch",
		`{"calls":[{"server":"words","tool":"echo","arguments":{"alpha":"one"}},{"server":"nope","tool":"nope"},{"server":"words","tool":"fail"},{"server":"words","tool":"echo","arguments":{"alpha":"four"}}]}`)
	got := []string{}
	for _, r := range decode[struct{ Results []result }](t, body).Results {
		if r.Result != nil {
			got = append(got, decode[struct{ Alpha string }](t, r.Structured).Alpha)
			continue
		}
		got = append(got, r.Kind)
	}
	if diff := cmp.Diff([]string{"one", "not_found", "failed", "four"}, got); diff != "" {
		t.Error(diff)
	}
	if _, body := do(t, srv, "POST", "/api/v1/calls/batch", `{"calls":[]}`); string(body) != `{"results":[]}` {
		t.Errorf("empty batch gives %s", body)
	}
}

// A batch beyond the limit has a result for each call all the same, and says so.
func TestBatchBeyondTheLimit(t *testing.T) {
	srv := serve(t, pool(t))
	_, body := do(t, srv, "POST", "/api/v1/calls/batch", `{"calls":[`+strings.Repeat(`{"server":"words","tool":"echo"},`, 11)+`{"server":"words","tool":"echo"}]}`)
	got := decode[struct {
		Results []result
		Notes   []struct{ Stage string }
	}](t, body)
	for i, r := range got.Results {
		if denied := r.Kind == "denied"; denied != (i >= 10) {
			t.Errorf("result %d: %q", i, r.Kind)
		}
	}
	if len(got.Results) != 12 || len(got.Notes) != 1 || got.Notes[0].Stage != "batch" {
		t.Errorf("%d results, notes %v", len(got.Results), got.Notes)
	}
}

func TestSessionTaskAndSkill(t *testing.T) {
	gw := pool(t)
	srv := serve(t, gw)
	headers := []string{"X-Tenon-Session", "head-s", "X-Tenon-Task", "head-t", "X-Tenon-Skill", "head-k"}
	do(t, srv, "POST", "/api/v1/calls", `{"server":"words","tool":"echo"}`, headers...)
	do(t, srv, "POST", "/api/v1/calls", `{"server":"words","tool":"echo","session":"body-s","task_id":"body-t","skill":"body-k"}`, headers...)
	do(t, srv, "POST", "/api/v1/calls/batch", `{"calls":[{"server":"words","tool":"echo","session":"batch-s"}]}`, headers...)
	got := [][4]string{}
	for _, c := range gw.Calls(10) {
		got = append(got, [4]string{c.Session, c.Task, c.Skill, c.Caller.Via})
	}
	want := [][4]string{{"batch-s", "head-t", "head-k", "rest"}, {"body-s", "body-t", "body-k", "rest"}, {"head-s", "head-t", "head-k", "rest"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A name from the declarations of a model API leads to its tool, before and after
// its server has started.
func TestFlatNames(t *testing.T) {
	srv := serve(t, pool(t))
	for range 2 {
		_, body := do(t, srv, "POST", "/api/v1/calls", `{"tool":"words__echo","arguments":{"alpha":"x"}}`)
		if r := decode[result](t, body); r.Server != "words" || r.Tool != "echo" || r.Result == nil || len(r.Notes) > 0 {
			t.Errorf("got %s", body)
		}
	}
}

// A flat name that cannot be read back by itself is known once its server is.
func TestFlatNamesThatAreHashed(t *testing.T) {
	gw, err := tenon.Open(t.Context(), tenon.Options{Bundled: []tenon.Bundled{{Name: "two__parts", Keyless: true, New: words}}})
	if err != nil {
		t.Fatal(err)
	}
	defer gw.Close()
	srv := serve(t, gw)
	_, body := do(t, srv, "GET", "/api/v1/tools?format=anthropic", "")
	name := decode[struct{ Tools []struct{ Name string } }](t, body).Tools[0].Name
	if len(name) <= len("two__parts__echo") {
		t.Fatalf("the flat name is %s, want a hashed one", name)
	}
	_, body = do(t, srv, "POST", "/api/v1/calls", `{"tool":"`+name+`"}`)
	if r := decode[result](t, body); r.Server != "two__parts" || r.Tool != "echo" || len(r.Notes) > 0 {
		t.Errorf("got %s", body)
	}
}

func TestRecords(t *testing.T) {
	srv := serve(t, pool(t))
	_, body := do(t, srv, "POST", "/api/v1/calls", `{"server":"words","tool":"fail"}`)
	id := decode[result](t, body).ID
	do(t, srv, "POST", "/api/v1/calls", `{"server":"words","tool":"echo"}`)
	type record struct {
		ID   string `json:"id"`
		Tool string `json:"tool_name"`
		Kind string `json:"error_kind"`
	}
	_, body = do(t, srv, "GET", "/api/v1/calls", "")
	list := decode[struct{ Calls []record }](t, body).Calls
	if len(list) != 2 || list[0].Tool != "echo" || list[1] != (record{id, "fail", "failed"}) {
		t.Errorf("got %s, want echo, then fail", body)
	}
	if _, body := do(t, srv, "GET", "/api/v1/calls?limit=1", ""); len(decode[struct{ Calls []record }](t, body).Calls) != 1 {
		t.Errorf("limit=1 gives %s", body)
	}
	if status, body := do(t, srv, "GET", "/api/v1/calls/"+id, ""); status != 200 || decode[record](t, body).ID != id {
		t.Errorf("got %d %s", status, body)
	}
	if status, body := do(t, srv, "GET", "/api/v1/calls/nope", ""); status != 404 || decode[result](t, body).Kind != "not_found" {
		t.Errorf("got %d %s", status, body)
	}
}

func TestServersAndTools(t *testing.T) {
	gw := pool(t)
	srv := serve(t, gw)
	_, body := do(t, srv, "GET", "/api/v1/servers", "")
	type status struct{ Name, State string }
	want := []status{{"words", "idle"}, {"empty", "idle"}, {"broken", "failed"}}
	if diff := cmp.Diff(want, decode[struct{ Servers []status }](t, body).Servers); diff != "" {
		t.Error(diff)
	}
	_, body = do(t, srv, "GET", "/api/v1/tools", "")
	list := decode[struct {
		Servers []struct {
			Name, Error string
			Tools       []struct {
				Name   string
				Schema json.RawMessage
			}
		}
	}](t, body).Servers
	if len(list) != 3 || len(list[0].Tools) != 3 || list[1].Tools == nil || list[2].Tools == nil || !strings.Contains(list[2].Error, "key is") {
		t.Fatalf("got %s", body)
	}
	offered, err := gw.Tools(t.Context(), tenon.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0].Tools[0].Schema; string(got) != string(offered.Servers[0].Tools[0].Schema) {
		t.Errorf("schema came as %s", got)
	}
	_, body = do(t, srv, "GET", "/api/v1/tools?server=empty", "")
	if want := `{"servers":[{"name":"empty","state":"idle","tools":[]}]}`; string(body) != want {
		t.Errorf("got %s, want %s", body, want)
	}
	if status, body := do(t, srv, "GET", "/api/v1/tools?server=word", ""); status != 404 || !strings.Contains(string(body), "words") {
		t.Errorf("unknown server gives %d %s, want the nearest", status, body)
	}
}

func TestSearch(t *testing.T) {
	srv := serve(t, pool(t))
	_, body := do(t, srv, "GET", "/api/v1/tools/search?q=give+back+arguments&limit=1", "")
	if m := decode[struct {
		Matches []struct{ Server, Name string }
	}](t, body).Matches; len(m) != 1 || m[0].Name != "echo" {
		t.Errorf("got %s", body)
	}
	if _, body := do(t, srv, "GET", "/api/v1/tools/search?q=zzzzqqqq", ""); string(body) != `{"matches":[]}` {
		t.Errorf("got %s", body)
	}
}

func TestWrongRequests(t *testing.T) {
	srv := serve(t, pool(t))
	for _, c := range []struct {
		method, path string
		status       int
		text         string
	}{
		{"GET", "/", 404, "openapi.json"},
		{"GET", "/api/v1", 404, "openapi.json"},
		{"GET", "/api/v1/tool", 404, "openapi.json"},
		{"POST", "/api/v1/tools", 405, "GET"},
		{"GET", "/api/v1/calls/batch", 405, "POST"},
		{"DELETE", "/api/v1/calls", 405, "GET, POST"},
		{"GET", "/api/v1/tools?formt=mcp", 400, "known: server, format"},
		{"GET", "/api/v1/tools?format=xml", 400, "known: table, prompt"},
		{"GET", "/api/v1/tools?server=a&server=b", 400, "twice"},
		{"GET", "/api/v1/tools?server=%zz", 400, "query"},
		{"GET", "/api/v1/tools/search", 400, "words"},
		{"GET", "/api/v1/tools/search?q=x&limit=0", 400, "from 1 to 100"},
		{"GET", "/api/v1/calls?limit=many", 400, "from 1 to 1000"},
		{"GET", "/api/v1/servers?x=1", 400, "known: "},
	} {
		status, body := do(t, srv, c.method, c.path, "")
		r := decode[result](t, body)
		if status != c.status || r.Error == nil || r.Kind == "" || !strings.Contains(*r.Error, c.text) {
			t.Errorf("%s %s: got %d %s, want %d and %q", c.method, c.path, status, body, c.status, c.text)
		}
	}
}

func TestMethodNotAllowedSaysWhatIs(t *testing.T) {
	rec := httptest.NewRecorder()
	rest.New(pool(t), rest.Options{}).ServeHTTP(rec, httptest.NewRequest("PUT", "/api/v1/calls", nil))
	if got := rec.Header().Get("Allow"); got != "GET, POST" {
		t.Errorf("Allow: %q", got)
	}
}

func TestBodyTooLarge(t *testing.T) {
	api := http.MaxBytesHandler(rest.New(pool(t), rest.Options{}), 1000)
	rec := httptest.NewRecorder()
	api.ServeHTTP(rec, httptest.NewRequest("POST", "/api/v1/calls", strings.NewReader(`{"tool":"`+strings.Repeat("x", 1000)+`"}`)))
	if rec.Code != 413 || !strings.Contains(rec.Body.String(), "1000 bytes") {
		t.Errorf("got %d %s", rec.Code, rec.Body)
	}
}

// The document and the mux have the same operations, and the version is that of
// the program.
func TestDocument(t *testing.T) {
	_, body := do(t, serve(t, pool(t)), "GET", "/api/v1/openapi.json", "")
	doc := decode[struct {
		Info  struct{ Version string }
		Paths map[string]map[string]struct{ OperationID string }
	}](t, body)
	if doc.Info.Version != "1.2.3" {
		t.Errorf("version %q", doc.Info.Version)
	}
	api := rest.New(pool(t), rest.Options{})
	for path, methods := range doc.Paths {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			rec := httptest.NewRecorder()
			api.ServeHTTP(rec, httptest.NewRequest(method, "/api/v1"+strings.ReplaceAll(path, "{id}", "an-id"), nil))
			_, documented := methods[strings.ToLower(method)]
			if served := rec.Code != http.StatusMethodNotAllowed && !strings.Contains(rec.Body.String(), "there is no path"); served != documented {
				t.Errorf("%s %s: documented %v, served %v (%d %s)", method, path, documented, served, rec.Code, rec.Body)
			}
		}
	}
}

// TestBodiesThatAreFullOfNothing: what a body is refused for costs no more than the
// body: neither calls without end nor members without end are kept.
func TestBodiesThatAreFullOfNothing(t *testing.T) {
	srv := serve(t, pool(t))
	var members strings.Builder
	members.WriteString(`{"tool":"echo"`)
	for i := range 20_000 {
		fmt.Fprintf(&members, `,"m%d":0`, i)
	}
	members.WriteString("}")
	for name, c := range map[string]struct{ path, body, where string }{
		"calls":   {"/api/v1/calls/batch", `{"calls":[` + strings.Repeat(`{"tool":"x"},`, 30_000) + `{}]}`, `"/calls"`},
		"members": {"/api/v1/calls", members.String(), `"/m0"`},
		"twice":   {"/api/v1/calls", `{"tool":"echo","server":"words","tool":"fail"}`, `"/tool"`},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := rest.DecodeBatch([]byte(c.body))
			if c.path == "/api/v1/calls" {
				_, err = rest.DecodeCall([]byte(c.body), "")
			}
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("it was taken")
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 4*uint64(len(c.body))+4<<20 {
				t.Errorf("%d bytes for a body of %d", grown, len(c.body))
			}
			if name == "twice" {
				return // a schema sees one of them alone
			}
			if status, body := do(t, srv, "POST", c.path, c.body); status != 400 || !strings.Contains(string(body), c.where) {
				t.Errorf("%d: %s", status, body)
			}
		})
	}
}

// TestOneNaming: a call may be named as its answer names it, so that what was answered
// can be sent again.
func TestOneNaming(t *testing.T) {
	srv := serve(t, pool(t))
	for body, want := range map[string]int{
		`{"server_name":"words","tool_name":"echo","arguments":{"alpha":"x"}}`: 200,
		`{"server":"words","tool_name":"echo"}`:                                200,
		`{"server":"words","server_name":"words","tool":"echo"}`:               400,
		`{"server":"words","server_name":"other","tool":"echo"}`:               400,
		`{"tool_name":"echo","tool":"fail"}`:                                   400,
	} {
		status, answer := do(t, srv, "POST", "/api/v1/calls", body)
		if status != want || want == 200 && (decode[result](t, answer).Server != "words" || decode[result](t, answer).Tool != "echo") {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	if status, answer := do(t, srv, "POST", "/api/v1/calls/batch", `{"calls":[{"server_name":"words","tool_name":"echo"}]}`); status != 200 || !strings.Contains(string(answer), `"tool_name":"echo"`) {
		t.Errorf("%d %s", status, answer)
	}
}
