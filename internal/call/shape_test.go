package call_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/tool"
)

// kept is a call.Keeper of plain values.
type kept struct {
	bodies []string
	kinds  []string
	full   bool
	asked  []call.Reference
	value  func(call.Reference, int) ([]byte, error)
}

func (k *kept) Keep(_ *call.Request, kind string, body io.WriterTo) (*tool.Handle, error) {
	if k.full {
		return nil, errors.New("no space left on device")
	}
	var b bytes.Buffer
	if _, err := body.WriteTo(&b); err != nil {
		return nil, err
	}
	k.bodies, k.kinds = append(k.bodies, b.String()), append(k.kinds, kind)
	if kind == "" && json.Valid(b.Bytes()) {
		kind = "json"
	}
	return &tool.Handle{ID: fmt.Sprintf("h_%d", len(k.bodies)), Size: b.Len(), Kind: kind, ExpiresAt: time.Unix(1e9, 0)}, nil
}

func (k *kept) Value(_ context.Context, _ tool.Caller, ref call.Reference, most int) ([]byte, error) {
	k.asked = append(k.asked, ref)
	return k.value(ref, most)
}

// shaped returns what becomes of an answer, and what was kept of it.
func shaped(t testing.TB, raw tool.Bytes, limit int, output string) (*tool.Result, *kept) {
	t.Helper()
	k := &kept{}
	return shapedBy(t, k, raw, limit, output), k
}

func shapedBy(t testing.TB, k *kept, raw tool.Bytes, limit int, output string) *tool.Result {
	t.Helper()
	s := &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}, Meta: tool.Meta{MaxResultChars: limit}, Output: json.RawMessage(output)}}}
	if output == "" {
		s.tools[0].Output = nil
	}
	run := call.New(call.Options{
		Catalog: s, Keeper: k, NewID: func() string { return "c_1" },
		Send:   func(context.Context, *call.Request, []byte) (tool.Bytes, error) { return raw, nil },
		Record: func(*call.Request, *tool.Result) {},
	})
	return run(t.Context(), tool.Call{Server: "s", Tool: "t"})
}

func answerOf(content, structured string) tool.Bytes {
	raw := `{"a":1,"content":[` + content + `]`
	if structured != "" {
		raw += `, "structuredContent" : ` + structured
	}
	return tool.OneOf([]byte(raw + `,"_meta":{"n":9007199254740993}}`))
}

func textOf(s string) string { return `{"type":"text","text":` + string(quote(s)) + `}` }

func TestWithinTheLimitNothingChanges(t *testing.T) {
	for name, raw := range map[string]tool.Bytes{
		"short":           answerOf(textOf("a"), ""),
		"escapes":         answerOf(`{"type":"text","text":"`+strings.Repeat(`\u00e9`, 100)+`"}`, ""),
		"multibyte":       answerOf(textOf(strings.Repeat("€", 100)), ""),
		"an image":        answerOf(`{"type":"image","mimeType":"image/png","data":"`+strings.Repeat("A", 3<<20)+`"}`, ""),
		"unknown members": tool.OneOf([]byte(`{"content":[],"other":"` + strings.Repeat("x", 1000) + `"}`)),
		"an odd shape":    tool.OneOf([]byte(`{"content":"` + strings.Repeat("x", 90) + `","more":"` + strings.Repeat("x", 1000) + `"}`)),
	} {
		t.Run(name, func(t *testing.T) {
			res, k := shaped(t, raw, 100, "")
			if !bytes.Equal(res.Raw.Join(), raw.Join()) || res.Truncated || res.Handle != nil || len(res.Notes)+len(k.bodies) > 0 {
				t.Errorf("changed: %.300s %v", res.Raw.Join(), res.Notes)
			}
		})
	}
}

func TestTheWholeIsKept(t *testing.T) {
	long := strings.Repeat("täxt of \"one\" line\n", 100)
	res, k := shaped(t, answerOf(textOf("first")+","+textOf(long)+`,{"type":"resource","resource":{"uri":"x:y","text":"inner"}}`, ""), 100, "")
	if len(k.bodies) != 1 || k.bodies[0] != "first\n"+long+"\ninner" {
		t.Fatalf("kept %q", k.bodies)
	}
	text := res.Text()
	shown, marker, _ := strings.Cut(text, "\n[cut here")
	if !strings.HasPrefix(k.bodies[0], shown) {
		t.Errorf("what is shown is not the beginning: %q", shown)
	}
	n := utf8.RuneCountInString(shown)
	if n > 100 || n < 80 || !strings.Contains(marker, fmt.Sprintf(`: %d of %d characters`, n, utf8.RuneCountInString(k.bodies[0]))) ||
		!strings.Contains(marker, fmt.Sprintf(`{"id": "h_1", "offset": %d}`, n)) {
		t.Errorf("%d characters are shown: %q", n, marker)
	}
	if !res.Truncated || res.Handle == nil || res.Handle.ID != "h_1" || len(res.Notes) != 1 || !strings.Contains(res.Notes[0].Text, "handle h_1") {
		t.Errorf("%+v", res)
	}
	if !strings.Contains(string(res.Raw.Join()), `"_meta":{"n":9007199254740993}`) {
		t.Errorf("something else changed: %s", res.Raw.Join())
	}
}

// TestTheHandleIsThatOfTheText: where text and data are both cut, the handle of the result is
// the one that the text says to read on with.
func TestTheHandleIsThatOfTheText(t *testing.T) {
	res, k := shaped(t, answerOf(textOf(strings.Repeat("one line\n", 50)), `{"other":"`+strings.Repeat("x", 500)+`"}`), 100, "")
	if len(k.bodies) != 2 || !strings.HasPrefix(k.bodies[0], "one line") || !strings.HasPrefix(k.bodies[1], `{"other"`) {
		t.Fatalf("kept %q", k.bodies)
	}
	if res.Handle == nil || !strings.Contains(res.Text(), fmt.Sprintf(`{"id": %q`, res.Handle.ID)) || len(res.Notes) != 2 ||
		!strings.HasSuffix(res.Notes[0].Text, "what the server gave is kept whole as handle "+res.Handle.ID) {
		t.Errorf("%+v: %s", res.Handle, res.Text())
	}
}

func TestCutBetweenElements(t *testing.T) {
	var items []string
	for i := range 50 {
		items = append(items, fmt.Sprintf(`{"n":%d,"s":"a, b]}"}`, i))
	}
	res, _ := shaped(t, answerOf(textOf("["+strings.Join(items, ",")+"]"), ""), 200, "")
	shown, marker, _ := strings.Cut(res.Text(), "\n[cut")
	if !strings.HasSuffix(shown, "},") {
		t.Errorf("cut at %q", shown[len(shown)-20:])
	}
	if !strings.Contains(marker, `"grep" or "jq"`) {
		t.Errorf("marker %q", marker)
	}
}

func TestAFullDiskIsANote(t *testing.T) {
	k := &kept{full: true}
	res := shapedBy(t, k, answerOf(textOf(strings.Repeat("x", 1000)), ""), 100, "")
	if res.Kind != "" || res.Handle != nil || !res.Truncated || !strings.Contains(res.Text(), "The rest is lost") || !strings.Contains(fmt.Sprint(res.Notes), "lost") {
		t.Errorf("%s, notes %v", res.Text(), res.Notes)
	}
}

func TestTheSameIsSentOnce(t *testing.T) {
	structure := `{"list":[1,2,{"text":"é \"q\" 😀"}],"name":"` + strings.Repeat("x", 50) + `"}`
	indented := new(bytes.Buffer)
	_ = json.Indent(indented, []byte(structure), "", "  ")
	escaped := strings.ReplaceAll(strings.ReplaceAll(structure, "é", `\u00e9`), "😀", `\ud83d\ude00`)
	for _, c := range []struct{ name, text, structured string }{
		{"as it is", structure, structure},
		{"indented", indented.String(), structure},
		{"escaped", structure, escaped},
		{"wrapped", structure, `{"result":` + structure + `}`},
		{"wrapped text", "some text \n" + strings.Repeat("y", 50), `{"result":` + string(quote("some text \n"+strings.Repeat("y", 50))) + `}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			limit := utf8.RuneCountInString(c.text) + 10
			res, k := shaped(t, answerOf(textOf(c.text), c.structured), limit, "")
			if res.Structured() != nil || res.Text() != c.text || res.Truncated || len(k.bodies) > 0 || !strings.Contains(fmt.Sprint(res.Notes), "says the same") {
				t.Errorf("%s %v", res.Raw.Join(), res.Notes)
			}
			if !strings.Contains(string(res.Raw.Join()), `"_meta"`) || strings.Contains(string(res.Raw.Join()), "structuredContent") {
				t.Errorf("%s", res.Raw.Join())
			}
		})
	}
}

// TestStructureIsTakenOut: wherever it stands among the members.
func TestStructureIsTakenOut(t *testing.T) {
	content, structured := `"content":[`+textOf(`{"a":"`+strings.Repeat("x", 50)+`"}`)+`]`, `"structuredContent" : {"a":"`+strings.Repeat("x", 50)+`"}`
	for in, want := range map[string]string{
		"{" + content + " , " + structured + "}":         "{" + content + " }",
		"{" + structured + " , " + content + "}":         "{ " + content + "}",
		`{"x":1,` + structured + ",\n" + content + "}":   `{"x":1,` + "\n" + content + "}",
		"{ " + structured + "," + content + `,"y":"} "}`: "{ " + content + `,"y":"} "}`,
	} {
		res, _ := shaped(t, tool.OneOf([]byte(in)), 70, "")
		if got := string(res.Raw.Join()); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", in, got, want)
		}
	}
}

func TestADeclaredStructureStays(t *testing.T) {
	items := strings.TrimSuffix(strings.Repeat(`{"name":"short","long":"`+strings.Repeat("z", 100)+`","n":1},`, 50), ",")
	structure := `{"list":[` + items + `],"total":50,"next":null}`
	res, k := shaped(t, answerOf(textOf(structure), structure), 1000, `{"type":"object"}`)
	var got struct {
		List  []map[string]any
		Total int
		Next  *int
	}
	if err := json.Unmarshal(res.Structured(), &got); err != nil || got.Total != 50 || len(got.List) == 0 || len(got.List[0]) != 3 {
		t.Errorf("%s: %v", res.Structured(), err)
	}
	if n := len(res.Structured()); n > 250 {
		t.Errorf("%d characters of structured content", n)
	}
	if len(k.bodies) != 1 || k.bodies[0] != structure || !res.Truncated {
		t.Errorf("kept %q", k.bodies)
	}
	total(t, res, 1000)
}

func TestStructureAlone(t *testing.T) {
	structure := `{"k":"` + strings.Repeat("v", 3000) + `","list":[1,2,3]}`
	for _, raw := range []string{`{"content":[],"structuredContent":` + structure + `}`, `{"structuredContent":` + structure + `}`} {
		res, k := shaped(t, tool.OneOf([]byte(raw)), 1000, "")
		if len(k.bodies) != 1 || k.bodies[0] != structure || res.Structured() != nil || !strings.HasPrefix(res.Text(), structure[:500]) {
			t.Errorf("%s", res.Raw.Join())
		}
		total(t, res, 1000)
	}
}

func TestTextAndStructureThatDiffer(t *testing.T) {
	structure := `{"k":"` + strings.Repeat("v", 3000) + `","list":[1,2,3]}`
	for text, bodies := range map[string]int{"short": 1, strings.Repeat("long ", 500): 2} {
		res, k := shaped(t, answerOf(textOf(text), structure), 1000, "")
		if len(k.bodies) != bodies || k.bodies[bodies-1] != structure {
			t.Errorf("kept %d", len(k.bodies))
		}
		var got map[string]any
		if err := json.Unmarshal(res.Structured(), &got); err != nil || len(got) != 2 {
			t.Errorf("%s: %v", res.Structured(), err)
		}
		each(t, res, 1000)
	}
	res, k := shaped(t, answerOf(textOf(strings.Repeat("long ", 500)), `{"small":1}`), 1000, "")
	if string(res.Structured()) != `{"small":1}` || len(k.bodies) != 1 {
		t.Errorf("%s", res.Raw.Join())
	}
	each(t, res, 1000)
	// What fits is not touched, also where both together are more.
	res, k = shaped(t, answerOf(textOf(strings.Repeat("text ", 190)), `{"k":"`+strings.Repeat("v", 950)+`"}`), 1000, "")
	if len(k.bodies) > 0 || len(res.Notes) > 0 {
		t.Errorf("%s", res.Raw.Join())
	}
}

func TestLargeMedia(t *testing.T) {
	image := `{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("A", 3<<20) + `"}`
	audio := `{"type":"audio","mimeType":"audio/wav","data":"` + strings.Repeat("B", 2<<20) + `"}`
	blob := `{"type":"resource","resource":{"uri":"x:y","mimeType":"application/pdf","blob":"` + strings.Repeat("C", 2<<20) + `"}}`
	res, k := shaped(t, answerOf(textOf("hi")+","+image+","+audio+","+blob, ""), 1000, "")
	if len(k.bodies) != 2 || k.kinds[0] != "audio/wav" || k.bodies[0] != strings.Repeat("B", 2<<20) || k.kinds[1] != "application/pdf" {
		t.Fatalf("kept %v", k.kinds)
	}
	content := res.Content()
	if len(content) != 4 || string(content[1]) != image || !strings.Contains(res.Text(), `{"$handle": "h_2"}`) || !res.Truncated {
		t.Errorf("%.300s", res.Text())
	}
	k = &kept{full: true}
	if res := shapedBy(t, k, answerOf(image+","+audio, ""), 1000, ""); !strings.Contains(res.Text(), "could not be kept") {
		t.Errorf("%.300s", res.Text())
	}
	if res, _ := shaped(t, answerOf(image+","+audio, ""), 0, ""); res.Truncated {
		t.Error("cut without a limit")
	}
}

func TestTheCeiling(t *testing.T) {
	res, _ := shaped(t, answerOf(textOf(strings.Repeat("x", 200_000)), ""), 1_000_000, "")
	total(t, res, call.MaxResultChars)
	if !res.Truncated {
		t.Error("over the ceiling")
	}
}

func TestLongErrorsAreCut(t *testing.T) {
	k := &kept{}
	run := call.New(call.Options{
		Catalog: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}, Meta: tool.Meta{MaxResultChars: 100}}}},
		Keeper:  k, NewID: func() string { return "c_1" },
		Send: func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
			return nil, &tool.Error{Kind: tool.Failed, Text: strings.Repeat("so much went wrong ", 100)}
		},
		Record: func(*call.Request, *tool.Result) {},
	})
	res := run(t.Context(), tool.Call{Server: "s", Tool: "t"})
	if res.Kind != tool.Failed || len(res.Message) > 400 || len(k.bodies) != 1 || res.Handle == nil {
		t.Errorf("%+v", res)
	}
}

// total checks that what a result gives is within its limit, the marker apart.
// each holds text and structured content to the limit, each for itself.
func each(t testing.TB, res *tool.Result, limit int) {
	t.Helper()
	if text, data := lengths(res); text > limit || data > limit {
		t.Errorf("%d characters of text and %d of data, over the limit of %d", text, data, limit)
	}
}

// total holds text and structured content that say the same to the limit in all.
func total(t testing.TB, res *tool.Result, limit int) {
	t.Helper()
	if text, data := lengths(res); text+data > limit {
		t.Errorf("%d characters of text and %d of data, over the limit of %d", text, data, limit)
	}
}

func lengths(res *tool.Result) (chars, data int) {
	text := ""
	for _, c := range res.Content() {
		var b struct{ Text string }
		if json.Unmarshal(c, &b) == nil && !strings.HasPrefix(b.Text, "[cut here") {
			text += b.Text
		}
	}
	return utf8.RuneCountInString(text), utf8.RuneCount(res.Structured())
}

// FuzzShape: whatever an answer is, and in whatever pieces it came, what is made
// of it is a result again, valid UTF-8 and within the limit.
func FuzzShape(f *testing.F) {
	f.Add("some text\nin lines\n", `{"a":[1,2,"x"]}`, 10, 3, true)
	f.Add("[1,2,3,{\"a\":\"\\u00e9\"}]", `{"result":[1]}`, 5, 1, false)
	f.Add("\xff\xe2\x82 é😀", `{"structuredContent":1,"a\"b":"\ud83d\ude00"}`, 3, 7, true)
	f.Add(strings.Repeat("é😀\\\"", 50), `{"a":"`+strings.Repeat(`\u00e9\"`, 100)+`","b":[[[[]]]],"c":{"d":{"e":[]}}}`, 40, 11, true)
	f.Fuzz(func(t *testing.T, text, structured string, limit, piece int, declared bool) {
		limit, piece = 1+max(limit, -limit)%2000, 1+max(piece, -piece)%50
		if limit < 1 || piece < 1 {
			return
		}
		var object map[string]any
		if json.Unmarshal([]byte(structured), &object) != nil || object == nil || !utf8.ValidString(structured) {
			structured = ""
		}
		whole := answerOf(textOf(text)+`,{"type":"other"},`+textOf(structured), structured).Join()
		if !json.Valid(whole) {
			t.Skip()
		}
		var raw tool.Bytes
		for p := whole; len(p) > 0; p = p[min(piece, len(p)):] {
			raw = append(raw, p[:min(piece, len(p))])
		}
		output := ""
		if declared {
			output = `{"type":"object"}`
		}
		res, k := shaped(t, raw, limit, output)
		if res.Kind != "" {
			t.Skip() // such as a member that stands twice
		}
		out := res.Raw.Join()
		if !json.Valid(out) {
			t.Fatalf("no JSON: %s", out)
		}
		if len(res.Notes) == 0 {
			if !bytes.Equal(out, whole) {
				t.Fatalf("changed without a note: %s", out)
			}
			return
		}
		each(t, res, limit)
		if !utf8.Valid(out) {
			t.Fatalf("no UTF-8: %q", out)
		}
		for _, b := range k.bodies {
			if shown, marker, ok := strings.Cut(res.Text(), "\n[cut here"); ok && len(k.bodies) == 1 &&
				!strings.HasPrefix(b, strings.TrimRight(shown, "\n")) && !strings.Contains(shown, "type") {
				t.Fatalf("shows %q, kept %q, marker %q", shown, b, marker)
			}
		}
	})
}

// counting is a call.Keeper that only counts.
type counting struct {
	kept
	n int64
}

func (c *counting) Keep(_ *call.Request, _ string, body io.WriterTo) (*tool.Handle, error) {
	n, err := body.WriteTo(io.Discard)
	c.n += n
	return &tool.Handle{ID: "h_1"}, err
}

// TestNothingIsCopiedWhole: what a long answer costs does not grow with it.
func TestNothingIsCopiedWhole(t *testing.T) {
	line := strings.Repeat(`é \"quoted\" \u00e9\n`, 10_000)
	raw := tool.Bytes{[]byte(`{"content":[{"type":"text","text":"`)}
	for range 20 {
		raw = append(raw, []byte(line))
	}
	raw = append(raw, []byte(`"}]}`))
	k := &counting{}
	run := call.New(call.Options{
		Catalog: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}, Meta: tool.Meta{MaxResultChars: 100}}}},
		Keeper:  k, NewID: func() string { return "c_1" },
		Send:   func(context.Context, *call.Request, []byte) (tool.Bytes, error) { return raw, nil },
		Record: func(*call.Request, *tool.Result) {},
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := run(t.Context(), tool.Call{Server: "s", Tool: "t"})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 512<<10 || !res.Truncated || k.n != 20*10_000*int64(len("é \"quoted\" é\n")) {
		t.Errorf("%d bytes are allocated to cut %d; kept %d", n, raw.Len(), k.n)
	}
}
