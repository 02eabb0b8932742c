package vision_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/tenon-mcp/tenon/internal/intake"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/servers/vision"
)

func connect(t *testing.T, o vision.Options, env map[string]string) *mcp.ClientSession {
	t.Helper()
	o.Proxy = "none"
	srv, err := vision.Build(o, env)
	if err != nil {
		t.Fatal(err)
	}
	return testenv.Client(t, srv)
}

type usage struct {
	Model    string   `json:"model"`
	Requests int      `json:"requests"`
	Input    int      `json:"input_tokens"`
	Cost     *float64 `json:"cost"`
}

type result struct {
	text   string
	failed bool
	out    struct {
		OCR, Answer, Type, Engine, Transcription string
		Usage                                    *usage
		Notes                                    []string
	}
	meta usage
}

func call(t *testing.T, cs *mcp.ClientSession, name string, args map[string]any) result {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	r := result{text: res.Content[0].(*mcp.TextContent).Text, failed: res.IsError}
	for v, into := range map[any]any{"data": &r.out, "meta": &r.meta} {
		from := res.StructuredContent
		if v == "meta" {
			from = res.Meta["tenon/usage"]
		}
		b, err := json.Marshal(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, into); err != nil {
			t.Fatal(err)
		}
	}
	if utf8.RuneCountInString(r.text) > 20_000 {
		t.Errorf("%s: %d characters", name, utf8.RuneCountInString(r.text))
	}
	if strings.Contains(r.text, doubles.Key) {
		t.Errorf("%s tells the key: %s", name, r.text)
	}
	return r
}

// drawing returns an image with words.
func drawing(words string, scale int) *image.RGBA {
	small := image.NewRGBA(image.Rect(0, 0, 7*len(words)+20, 30))
	draw.Draw(small, small.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	(&font.Drawer{Dst: small, Src: image.NewUniform(color.Black), Face: basicfont.Face7x13, Dot: fixed.P(10, 20)}).DrawString(words)
	large := image.NewRGBA(image.Rect(0, 0, small.Bounds().Dx()*scale, 30*scale))
	draw.CatmullRom.Scale(large, large.Bounds(), small, small.Bounds(), draw.Src, nil)
	return large
}

func encoded(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asData(kind string, b []byte) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b)
}

// TestProviders asks each vendor, chosen by the settings, in their order.
func TestProviders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.jpg") // the name lies
	if err := os.WriteFile(file, encoded(t, drawing("HELLO", 2)), 0o600); err != nil {
		t.Fatal(err)
	}
	openai, claude, gemini, own := doubles.OpenAI(), doubles.Anthropic(), doubles.Gemini(), doubles.OpenAI()
	env := map[string]string{
		"GEMINI_API_KEY": doubles.Key, "GOOGLE_GEMINI_BASE_URL": doubles.Start(t, gemini), "GEMINI_MODEL_NAME": "gemini-y",
	}
	steps := []struct {
		set, model string
		asked      *doubles.Double
		more       map[string]string
	}{
		{"Gemini", "gemini-y", gemini, nil},
		{"OpenAI", "gpt-4o", openai, map[string]string{"OPENAI_API_KEY": doubles.Key, "OPENAI_BASE_URL": doubles.Start(t, openai) + "/v1"}},
		{"Anthropic", "claude-z", claude, map[string]string{"ANTHROPIC_API_KEY": doubles.Key, "ANTHROPIC_BASE_URL": doubles.Start(t, claude), "ANTHROPIC_MODEL_NAME": "claude-z"}},
		{"the vision endpoint", "llava", own, map[string]string{"VISION_API_KEY": doubles.Key, "VISION_BASE_URL": doubles.Start(t, own) + "/v1/chat/completions", "VISION_MODEL_NAME": "llava"}},
	}
	for _, step := range steps {
		maps.Copy(env, step.more)
		o := vision.Options{Access: intake.Access{Roots: []string{filepath.Dir(file)}}}
		o.Prices = []string{step.model + "=10/0"}
		r := call(t, connect(t, o, env), "visual_question_answering", map[string]any{"image_path_or_url": file, "question": "Which word?"})
		if r.failed || r.out.Engine != step.set || !strings.Contains(r.out.Answer, "Which word?") || !strings.Contains(r.out.Answer, "[image/png of") {
			t.Fatalf("%s: %+v", step.set, r)
		}
		if !strings.HasPrefix(r.text, "OCR results:\n") || !strings.Contains(r.text, "\n\nVQA result:\n") || r.out.Type != "image/png" {
			t.Errorf("%s: %s", step.set, r.text)
		}
		calls := step.asked.Calls()
		if len(calls) != 2 || !strings.Contains(string(calls[1].Body), "No text found") { // what the double has read is in the second question
			t.Errorf("%s: asked %d times", step.set, len(calls))
		}
		u := r.out.Usage
		if u == nil || u.Requests != 2 || u.Input != 200 || u.Cost == nil || *u.Cost < 0.0019 || *u.Cost > 0.0021 || !strings.HasPrefix(u.Model, step.model) || r.meta.Input != 200 {
			t.Errorf("%s: usage %+v, _meta %+v", step.set, u, r.meta)
		}
	}
}

func asking(t *testing.T, d *doubles.Double, o vision.Options) *mcp.ClientSession {
	t.Helper()
	return connect(t, o, map[string]string{"OPENAI_API_KEY": doubles.Key, "OPENAI_BASE_URL": doubles.Start(t, d) + "/v1"})
}

func TestWays(t *testing.T) {
	picture := encoded(t, drawing("HELLO", 2))
	site := doubles.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<!DOCTYPE html><p>no picture"))
			return
		}
		_, _ = w.Write(picture)
	}))
	o := vision.Options{Access: intake.Access{Allow: []string{strings.TrimPrefix(site, "http://")}}}
	cs := asking(t, doubles.OpenAI(), o)
	for _, args := range []map[string]any{
		{"media_path_or_url": site + "/a.gif"}, {"image_path_or_url": asData("image/jpeg", picture)}, {"image_path_or_url": nil, "media_path_or_url": asData("image/png", picture)},
	} {
		args["question"] = "?"
		if r := call(t, cs, "visual_question_answering", args); r.failed || !strings.Contains(r.out.Answer, "[image/png of") {
			t.Errorf("%v: %s", args, r.text)
		}
	}
	for ref, want := range map[string]string{
		site + "/page": "web page", "http://127.0.0.1:1/x": "refused", "http://169.254.169.254/x.png": "refused", "/etc/passwd": "option roots",
		"/home/user/a.png": "download_file_from_sandbox_to_local", asData("image/png", []byte("%PDF-1.7")): "PDF", asData("image/png", []byte("<svg/>")): "SVG",
		asData("image/png", []byte("\x89PNG\r\n\x1a\nbroken")): "damaged", asData("", []byte("text")): "no image", "": "no image is named", "--help": "option roots",
	} {
		if r := call(t, cs, "visual_question_answering", map[string]any{"image_path_or_url": ref, "question": "?"}); !r.failed || !strings.Contains(r.text, want) {
			t.Errorf("%s: %s", ref, r.text)
		}
	}
	good := asData("image/png", picture)
	for question, want := range map[string]string{"": "question is empty", strings.Repeat("x", 2<<20): "at most 20000"} {
		if r := call(t, cs, "visual_question_answering", map[string]any{"image_path_or_url": good, "question": question}); !r.failed || !strings.Contains(r.text, want) {
			t.Errorf("%.20s: %s", question, r.text)
		}
	}
	huge := asData("image/png", append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 1<<20)...))
	cs = asking(t, doubles.OpenAI(), vision.Options{MaxFileMB: 1})
	if r := call(t, cs, "visual_question_answering", map[string]any{"image_path_or_url": huge, "question": "?"}); !r.failed || !strings.Contains(r.text, "larger than 1 MiB") {
		t.Errorf("%.200s", r.text)
	}
}

// TestTooLarge gives Anthropic an image that is heavier than what it takes.
func TestTooLarge(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 1300, 1000))
	x := uint32(1)
	for i := range img.Pix {
		x = x*1664525 + 1013904223
		img.Pix[i] = byte(x>>24) | byte(255*(i%4/3)) // opaque
	}
	file := filepath.Join(t.TempDir(), "noise.png")
	b := encoded(t, img)
	if len(b) < 3_700_000 {
		t.Fatalf("the image has %d bytes only", len(b))
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"ANTHROPIC_API_KEY": doubles.Key, "ANTHROPIC_BASE_URL": doubles.Start(t, doubles.Anthropic())}
	cs := connect(t, vision.Options{Access: intake.Access{Roots: []string{filepath.Dir(file)}}}, env)
	r := call(t, cs, "visual_question_answering", map[string]any{"image_path_or_url": "noise.png", "question": "?"})
	if r.failed || !strings.Contains(r.out.Answer, "[image/jpeg of") || !strings.Contains(r.text, "Note: the image was sent as JPEG, converted from PNG") {
		t.Errorf("%+v", r)
	}
}

func TestFailures(t *testing.T) {
	good := asData("image/png", encoded(t, drawing("HELLO", 1)))
	for _, c := range []struct {
		faults []doubles.Fault
		calls  int
		failed bool
		want   string
		spent  int
	}{
		{[]doubles.Fault{{Status: 401}}, 1, true, "OPENAI_API_KEY", 0},
		{[]doubles.Fault{{Status: 503, Times: 1}}, 3, false, "VQA result", 2},
		{[]doubles.Fault{{Code: "content_filter", Times: 1}}, 2, false, "could not be read apart", 2},
		{[]doubles.Fault{{Status: 404, Match: "first look"}}, 2, true, "The text on it was read before that", 1},
	} {
		d := doubles.OpenAI()
		d.Fail(c.faults...)
		r := call(t, asking(t, d, vision.Options{}), "visual_question_answering", map[string]any{"image_path_or_url": good, "question": "?"})
		if r.failed != c.failed || !strings.Contains(r.text, c.want) || len(d.Calls()) != c.calls || r.meta.Requests != c.spent {
			t.Errorf("%+v: %d calls, spent %+v: %s", c.faults, len(d.Calls()), r.meta, r.text)
		}
	}
	if r := call(t, connect(t, vision.Options{Tesseract: "-"}, nil), "visual_question_answering", map[string]any{"image_path_or_url": good, "question": "?"}); !r.failed || !strings.Contains(r.text, "VISION_BASE_URL") {
		t.Error(r.text)
	}
}

func TestCancel(t *testing.T) {
	d := doubles.OpenAI()
	d.Fail(doubles.Fault{Slow: time.Minute})
	cs := asking(t, d, vision.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "visual_question_answering", Arguments: map[string]any{"image_path_or_url": asData("", encoded(t, drawing("A", 1))), "question": "?"}})
	if err == nil || time.Since(start) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

// TestVideo gives a video to who takes some, and to who does not.
func TestVideo(t *testing.T) {
	video := asData("video/mp4", []byte("\x00\x00\x00\x18ftypmp42 and so on, which is no matter"))
	args := map[string]any{"media_path_or_url": video, "question": "?"}
	if r := call(t, asking(t, doubles.OpenAI(), vision.Options{}), "visual_question_answering", args); !r.failed || !strings.Contains(r.text, "no videos") {
		t.Error(r.text)
	}
	gemini := map[string]string{"GEMINI_API_KEY": doubles.Key, "GOOGLE_GEMINI_BASE_URL": doubles.Start(t, doubles.Gemini())}
	own := map[string]string{"VISION_BASE_URL": doubles.Start(t, doubles.OpenAI()) + "/v1", "VISION_MODEL_NAME": "qwen-vl", "VISION_API_KEY": doubles.Key}
	for _, env := range []map[string]string{gemini, own} {
		if r := call(t, connect(t, vision.Options{}, env), "visual_question_answering", args); r.failed || !strings.Contains(r.out.Answer, "[video/mp4 of") {
			t.Error(r.text)
		}
	}
}

// TestOffline reads letters by the real tesseract, where no model is set up.
func TestOffline(t *testing.T) {
	program := testenv.Program(t, "tesseract")
	cs := connect(t, vision.Options{Tesseract: program}, nil)
	r := call(t, cs, "visual_question_answering", map[string]any{"image_path_or_url": asData("", encoded(t, drawing("HELLO 4711 WORLD", 4))), "question": "Which words?"})
	if r.failed || !strings.Contains(r.out.OCR, "HELLO 4711 WORLD") || r.out.Answer != "" || r.out.Engine != "tesseract" || !strings.Contains(r.text, "the question is not answered") || r.out.Usage != nil {
		t.Errorf("%+v", r)
	}
	if r := call(t, cs, "visual_question_answering", map[string]any{"image_path_or_url": asData("", []byte("\x00\x00\x00\x18ftypmp42 and so on")), "question": "?"}); !r.failed || !strings.Contains(r.text, "videos") {
		t.Error(r.text)
	}
}

func TestYouTube(t *testing.T) {
	const name, url = "visual_audio_youtube_analyzing", "https://youtube.com/watch?v=dQw4w9WgXcQ&t=1"
	d := doubles.Gemini()
	cs := connect(t, vision.Options{}, map[string]string{"GEMINI_API_KEY": doubles.Key, "GOOGLE_GEMINI_BASE_URL": doubles.Start(t, d), "OPENAI_API_KEY": "other"})
	r := call(t, cs, name, map[string]any{"url": url, "question": "Who sings?", "provide_transcribe": true})
	if r.failed || !strings.Contains(r.out.Answer, "[https://www.youtube.com/watch?v=dQw4w9WgXcQ]") || !strings.Contains(r.out.Answer, "Who sings?") ||
		!strings.HasPrefix(r.text, "Transcription:\n\n") || !strings.Contains(r.text, "Answer of the question: Who sings?\n\n") || r.meta.Requests != 2 {
		t.Errorf("%+v", r)
	}
	for _, good := range []string{"youtube.com/shorts/dQw4w9WgXcQ", "https://m.youtube.com/live/dQw4w9WgXcQ?x", "http://youtu.be/dQw4w9WgXcQ"} {
		if r := call(t, cs, name, map[string]any{"url": good, "question": "?"}); r.failed || !strings.Contains(r.out.Answer, "watch?v=dQw4w9WgXcQ]") {
			t.Errorf("%s: %s", good, r.text)
		}
	}
	for _, bad := range []string{"", "https://evil.example/youtube.com/watch?v=dQw4w9WgXcQ", "https://youtube.com.evil.example/watch?v=dQw4w9WgXcQ", "https://youtube.com/watch", "https://youtube.com/watch?v=../../x", "file:///youtube.com/watch?v=dQw4w9WgXcQ", strings.Repeat("a", 1<<19)} {
		if r := call(t, cs, name, map[string]any{"url": bad, "question": "?"}); !r.failed || !strings.Contains(r.text, "no address of a YouTube video") {
			t.Errorf("%.80s: %s", bad, r.text)
		}
	}
	if r := call(t, cs, name, map[string]any{"url": url}); !r.failed || !strings.Contains(r.text, "nothing to do") {
		t.Error(r.text)
	}
	// One pass that fails leaves the other one's result.
	d.Fail(doubles.Fault{Status: 400, Code: "The input token count exceeds the maximum number of tokens allowed", Match: "Who sings?"})
	r = call(t, cs, name, map[string]any{"url": url, "question": "Who sings?", "provide_transcribe": true})
	if r.failed || r.out.Transcription == "" || r.out.Answer != "" || !strings.Contains(r.text, "too long to be watched") {
		t.Errorf("%+v", r)
	}
	if r := call(t, asking(t, doubles.OpenAI(), vision.Options{}), name, map[string]any{"url": url, "question": "?"}); !r.failed || !strings.Contains(r.text, "GEMINI_API_KEY") {
		t.Error(r.text)
	}
}

func TestOptions(t *testing.T) {
	for want, set := range map[string]func(*vision.Options){
		"max_file_mb": func(o *vision.Options) { o.MaxFileMB = 1000 }, "timeout_sec": func(o *vision.Options) { o.TimeoutSec = 1 },
		"prices": func(o *vision.Options) { o.Prices = []string{"x"} }, "roots": func(o *vision.Options) { o.Roots = []string{"/nothing/there"} },
		"vision_model_name": func(o *vision.Options) { o.VisionBaseURL = "http://127.0.0.1:1/v1" }, "vision_base_url": func(o *vision.Options) { o.VisionBaseURL, o.VisionModelName = "ftp://x", "m" },
		"tesseract": func(o *vision.Options) { o.Tesseract = "/nothing/there" }, "max_tokens_param": func(o *vision.Options) { o.MaxTokensParam = "x" },
		"anthropic_base_url": func(o *vision.Options) { o.AnthropicAPIKey, o.AnthropicBaseURL = "k", "http://169.254.169.254/" },
	} {
		var o vision.Options
		set(&o)
		if _, err := vision.Build(o, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
