package audio_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/intake"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/servers/audio"
)

func connect(t *testing.T, o audio.Options, env map[string]string) *mcp.ClientSession {
	t.Helper()
	o.Proxy = "none"
	srv, err := audio.Build(o, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after the server has ended
		left, err := filepath.Glob(filepath.Join(os.TempDir(), "tenon-sound-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	return testenv.Client(t, srv)
}

// temporary gives a test a folder of its own for passing files, so that what is left in
// it is its own.
func temporary(t *testing.T) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR"))
}

type result struct {
	text   string
	failed bool
	out    struct {
		Text, Answer, Format, Engine string
		Seconds                      float64 `json:"duration_seconds"`
		Pieces                       int
		Usage                        *struct {
			Requests int
			Input    int      `json:"input_tokens"`
			Seconds  float64  `json:"audio_seconds"`
			Cost     *float64 `json:"cost"`
		}
	}
	billed bool
}

func call(t *testing.T, cs *mcp.ClientSession, name string, args map[string]any) result {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
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
		t.Errorf("%s: %.300s", name, r.text)
	}
	return r
}

// wav returns a WAV file with a tone, which is broken by pauses.
func wav(seconds float64, rate int, pauses ...float64) []byte {
	n := int(seconds * float64(rate))
	b := make([]byte, 44+2*n)
	copy(b, "RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	le := binary.LittleEndian
	le.PutUint32(b[4:], uint32(len(b)-8))
	le.PutUint32(b[24:], uint32(rate))
	le.PutUint32(b[28:], uint32(2*rate))
	le.PutUint16(b[32:], 2)
	le.PutUint16(b[34:], 16)
	copy(b[36:], "data")
	le.PutUint32(b[40:], uint32(2*n))
	for i := range n {
		at := float64(i) / float64(rate)
		v := 8000 * math.Sin(2*math.Pi*440*at)
		for _, p := range pauses {
			if at >= p && at < p+0.5 {
				v = 0
			}
		}
		le.PutUint16(b[44+2*i:], uint16(int16(v)))
	}
	return b
}

func asData(b []byte) string { return "data:audio/any;base64," + base64.StdEncoding.EncodeToString(b) }

func file(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func openai(t *testing.T, d *doubles.Double) map[string]string {
	t.Helper()
	return map[string]string{"OPENAI_API_KEY": doubles.Key, "OPENAI_BASE_URL": doubles.Start(t, d) + "/v1"}
}

const transcription, question = "audio_transcription", "audio_question_answering"

func TestTranscription(t *testing.T) {
	temporary(t)
	path := file(t, "-o.mp3", wav(2, 8000)) // the name lies, and looks like an option
	o := audio.Options{Access: intake.Access{Roots: []string{filepath.Dir(path)}}}
	o.Prices = []string{"gpt-4o-mini-transcribe=1/1", "whisper-large=6/min"}
	d := doubles.OpenAI()
	env := openai(t, d)
	r := call(t, connect(t, o, env), transcription, map[string]any{"audio_path_or_url": path})
	if r.failed || r.text != "[audio.wav of 32044 bytes]\n\nAudio duration: 2 seconds" || r.out.Seconds != 2 || r.out.Format != "WAV" || r.out.Engine != "OpenAI" || r.out.Usage.Input != 50 || r.out.Usage.Cost == nil || !r.billed {
		t.Errorf("%+v", r)
	}
	if body := string(d.Calls()[0].Body); !strings.Contains(body, "gpt-4o-mini-transcribe") {
		t.Errorf("%.300s", body)
	}
	own := doubles.OpenAI()
	env["WHISPER_API_KEY"], env["WHISPER_BASE_URL"], env["WHISPER_MODEL_NAME"] = doubles.Key, doubles.Start(t, own)+"/v1/audio/transcriptions", "whisper-large"
	r = call(t, connect(t, o, env), transcription, map[string]any{"audio_path_or_url": path})
	if r.failed || len(own.Calls()) != 1 || r.out.Engine != "the speech endpoint" || r.out.Usage.Seconds != 30 || *r.out.Usage.Cost != 3 {
		t.Errorf("%+v", r)
	}
	own.Fail(doubles.Fault{Status: 401})
	if r := call(t, connect(t, o, env), transcription, map[string]any{"audio_path_or_url": path}); !r.failed || !strings.Contains(r.text, "WHISPER_API_KEY") {
		t.Error(r.text)
	}
	own.Heal()
	own.Fail(doubles.Fault{Empty: true})
	if r := call(t, connect(t, o, env), transcription, map[string]any{"audio_path_or_url": path}); r.failed || !strings.HasPrefix(r.text, "(nothing is said)\n\n") {
		t.Error(r.text)
	}
}

// TestLong cuts a long recording at its pauses, and keeps what there is when one fails.
func TestLong(t *testing.T) {
	temporary(t)
	long := asData(wav(21, 4000, 8.5, 16)) // longer than what is sent whole
	d := doubles.OpenAI()
	cs := connect(t, audio.Options{}, openai(t, d))
	r := call(t, cs, transcription, map[string]any{"audio_path_or_url": long})
	if r.failed || r.out.Pieces != 3 || r.out.Seconds != 21 || r.out.Usage.Requests != 3 || len(d.Calls()) != 3 || !strings.Contains(r.text, "heard in 3 pieces") || strings.Contains(r.text, "converted") {
		t.Fatalf("%+v, %d calls", r, len(d.Calls()))
	}
	first := len(d.Calls()[0].Body)
	if want := 16_000 * 2 * 8.75; math.Abs(float64(first)-want) > 6000 {
		t.Errorf("the first piece has %d bytes, about %.0f end in the pause", first, want)
	}
	if body := string(d.Calls()[1].Body); !strings.Contains(body, "name=\"prompt\"\r\n\r\n[audio.wav of") {
		t.Errorf("the second piece comes without what was said before: %.400s", body)
	}
	d.Fail(doubles.Fault{Status: 400, Match: `name="prompt"`})
	r = call(t, cs, transcription, map[string]any{"audio_path_or_url": long})
	if r.failed || r.out.Pieces != 1 || !strings.Contains(r.text, "only the first 0:08 were written down") {
		t.Errorf("%+v", r)
	}
}

func TestQuestion(t *testing.T) {
	temporary(t)
	d := doubles.OpenAI()
	env := openai(t, d)
	env["OPENAI_AUDIO_MODEL_NAME"] = "hearing"
	cs := connect(t, audio.Options{}, env)
	r := call(t, cs, question, map[string]any{"audio_path_or_url": asData(wav(1.5, 8000)), "question": "Who speaks?"})
	if r.failed || !strings.Contains(r.out.Answer, "[wav of 24044 bytes]") || !strings.HasSuffix(r.text, "\n\nAudio duration: 1.5 seconds") || !r.billed || r.out.Usage.Input != 100 {
		t.Errorf("%+v", r)
	}
	if body := string(d.Calls()[0].Body); !strings.Contains(body, `"model":"hearing"`) || !strings.Contains(body, "Who speaks?") {
		t.Errorf("%.300s", body)
	}
	r = call(t, cs, question, map[string]any{"audio_path_or_url": asData(wav(21, 4000)), "question": "?"})
	if r.failed || !strings.Contains(r.text, "only the first 0:07 were heard") || !strings.Contains(r.text, "Audio duration: 21 seconds") {
		t.Error(r.text)
	}
	d.Fail(doubles.Fault{Status: 500})
	if r := call(t, cs, question, map[string]any{"audio_path_or_url": asData(wav(1, 8000)), "question": "?"}); !r.failed || !strings.Contains(r.text, "try again later") {
		t.Error(r.text)
	}
}

func TestRefused(t *testing.T) {
	temporary(t)
	cs := connect(t, audio.Options{MaxFileMB: 1, Programs: audio.Programs{FFmpeg: "-", Pocketsphinx: "-"}}, openai(t, doubles.OpenAI()))
	amr := asData(append([]byte("#!AMR\n"), make([]byte, 100)...))
	for ref, want := range map[string]string{
		"https://www.youtube.com/watch?v=dQw4w9WgXcQ": "visual_audio_youtube_analyzing", "/etc/passwd": "option roots", "../../x.wav": "option roots", "-i": "option roots",
		"/home/user/a.wav": "download_file_from_sandbox_to_local", "http://127.0.0.1:1/a.wav": "refused", "http://[::1]/a.wav": "refused", "": "no file is named",
		asData([]byte("#EXTM3U\nfile:///etc/passwd\n")): "no recording by its content", asData([]byte("ffconcat version 1.0\nfile /etc/passwd")): "no recording",
		asData(make([]byte, 1<<20+1)): "larger than 1 MiB", amr: "the operator can install ffmpeg", asData(wav(0, 8000)[:40]): "", "$(touch /tmp/x);a.wav": "option roots",
	} {
		for _, name := range []string{transcription, question} {
			r := call(t, cs, name, map[string]any{"audio_path_or_url": ref, "question": "?"})
			if name == transcription {
				r = call(t, cs, name, map[string]any{"audio_path_or_url": ref})
			}
			if !r.failed && want != "" || !strings.Contains(r.text, want) {
				t.Errorf("%s %.60s: %s", name, ref, r.text)
			}
		}
	}
	good := asData(wav(1, 8000))
	for q, want := range map[string]string{"": "question is empty", strings.Repeat("x", 1<<20): "at most 20000"} {
		if r := call(t, cs, question, map[string]any{"audio_path_or_url": good, "question": q}); !r.failed || !strings.Contains(r.text, want) {
			t.Errorf("%.20s: %s", q, r.text)
		}
	}
	nobody := connect(t, audio.Options{Programs: audio.Programs{FFmpeg: "-", Pocketsphinx: "-"}}, nil)
	for name, want := range map[string]string{transcription: "WHISPER_BASE_URL", question: "OPENAI_API_KEY"} {
		args := map[string]any{"audio_path_or_url": good, "question": "?"}
		if name == transcription {
			delete(args, "question")
		}
		if r := call(t, nobody, name, args); !r.failed || !strings.Contains(r.text, want) {
			t.Errorf("%s: %s", name, r.text)
		}
	}
}

func TestCancel(t *testing.T) {
	temporary(t)
	d := doubles.OpenAI()
	d.Fail(doubles.Fault{Slow: time.Minute})
	cs := connect(t, audio.Options{}, openai(t, d))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: transcription, Arguments: map[string]any{"audio_path_or_url": asData(wav(1, 8000))}})
	if err == nil || time.Since(start) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

// TestConverted gives formats that must be converted to the real ffmpeg.
func TestConverted(t *testing.T) {
	ffmpeg := testenv.Program(t, "ffmpeg")
	temporary(t)
	source := file(t, "a.wav", wav(3, 16_000))
	d := doubles.OpenAI()
	cs := connect(t, audio.Options{Programs: audio.Programs{FFmpeg: ffmpeg}}, openai(t, d))
	for _, c := range []struct{ ext, format, sent string }{
		{".aiff", "AIFF", "audio.wav"}, {".mkv", "Matroska", "audio.wav"}, {".aac", "AAC", "audio.wav"}, {".flac", "FLAC", "audio.flac"}, {".m4a", "M4A", "audio.m4a"},
	} {
		out := filepath.Join(t.TempDir(), "a"+c.ext)
		if b, err := exec.CommandContext(t.Context(), ffmpeg, "-nostdin", "-loglevel", "error", "-i", source, out).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		r := call(t, cs, transcription, map[string]any{"audio_path_or_url": asData(b)})
		if r.failed || r.out.Format != c.format || !strings.HasPrefix(r.text, "["+c.sent) || strings.Contains(r.text, "converted from "+c.format) != (c.sent == "audio.wav") || math.Abs(r.out.Seconds-3) > 0.2 {
			t.Errorf("%s: %+v", c.ext, r)
		}
		r = call(t, cs, question, map[string]any{"audio_path_or_url": asData(b), "question": "?"})
		if r.failed || !strings.Contains(r.out.Answer, "[wav of") || math.Abs(r.out.Seconds-3) > 0.2 {
			t.Errorf("%s: %+v", c.ext, r)
		}
		r = call(t, cs, transcription, map[string]any{"audio_path_or_url": asData(append(b[:16:16], bytes.Repeat([]byte("x"), 100)...))})
		if c.ext == ".aiff" && !r.failed {
			t.Errorf("%s, damaged: %+v", c.ext, r)
		}
	}
}

// TestOffline has the real pocketsphinx listen to a real voice.
func TestOffline(t *testing.T) {
	sphinx := testenv.Program(t, "pocketsphinx_continuous")
	raw, err := os.ReadFile("/usr/share/pocketsphinx/test/data/goforward.raw")
	if err != nil {
		t.Skip("needs the recordings of pocketsphinx-testdata: " + err.Error())
	}
	temporary(t)
	voice := append(wav(0, 16_000), raw...)
	binary.LittleEndian.PutUint32(voice[40:], uint32(len(raw)))
	cs := connect(t, audio.Options{Programs: audio.Programs{Pocketsphinx: sphinx}}, nil)
	r := call(t, cs, transcription, map[string]any{"audio_path_or_url": asData(voice)})
	if r.failed || r.out.Text != "go forward ten meters" || r.out.Engine != "pocketsphinx" || r.out.Seconds != 2.8 || !strings.Contains(r.text, "pocketsphinx has listened") || r.billed {
		t.Errorf("%+v", r)
	}
}

func TestOptions(t *testing.T) {
	for want, set := range map[string]func(*audio.Options){
		"max_file_mb": func(o *audio.Options) { o.MaxFileMB = 1000 }, "timeout_sec": func(o *audio.Options) { o.TimeoutSec = -1 },
		"prices": func(o *audio.Options) { o.Prices = []string{"x"} }, "roots": func(o *audio.Options) { o.Roots = []string{"/nothing/there"} },
		"whisper_base_url": func(o *audio.Options) { o.WhisperBaseURL = "nonsense" }, "ffmpeg": func(o *audio.Options) { o.FFmpeg = "/nothing/there" },
		"pocketsphinx": func(o *audio.Options) { o.Pocketsphinx = "/nothing/there" }, "openai_base_url": func(o *audio.Options) { o.APIKey, o.BaseURL = "k", "x" },
	} {
		var o audio.Options
		set(&o)
		if _, err := audio.Build(o, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
