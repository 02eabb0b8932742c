package stops_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/stops"
	"github.com/tenon-mcp/tenon/tool"
)

// A process has its stops open, and a folder of state of its own.
type process struct {
	*stops.Stops

	path string
	log  bytes.Buffer
}

// begin starts a process with this text in its file, or with none.
func begin(t *testing.T, text string) *process {
	t.Helper()
	p := &process{path: filepath.Join(t.TempDir(), "state", "stops.json")}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		t.Fatal(err)
	}
	if text != "" {
		p.put(t, text)
	}
	p.Stops, _ = stops.Open(stops.Options{Path: p.path, Log: slog.New(slog.NewTextHandler(&p.log, nil))}) // it is in the log
	return p
}

// watch looks at the file once, and ends.
func (p *process) watch(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Watch(ctx)
}

// put writes the file as another process does, though this one cannot.
func (p *process) put(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(p.path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(p.path+".new", p.path); err != nil {
		t.Fatal(err)
	}
}

// block keeps everybody, also root, from writing the file, until free is called.
func (p *process) block(t *testing.T) (free func()) {
	t.Helper()
	_ = os.Remove(p.path + ".lock")
	if err := os.Mkdir(p.path+".lock", 0o700); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.Remove(p.path + ".lock"); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *process) want(t *testing.T, when, want string) {
	t.Helper()
	if got := names(p.Stops); got != want {
		t.Errorf("%s, in force is %q, want %q", when, got, want)
	}
}

// wantLog looks for a line of the log that has all of this.
func (p *process) wantLog(t *testing.T, want ...string) {
	t.Helper()
next:
	for line := range strings.Lines(p.log.String()) {
		for _, w := range want {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		return
	}
	t.Errorf("the log has no line with %q:\n%s", want, p.log.String())
}

func wantUnkept(t *testing.T, err error) {
	t.Helper()
	if _, ok := errors.AsType[*stops.UnkeptError](err); !ok || tool.KindOf(err) != tool.Failed {
		t.Fatalf("%v, want an error that it could not be kept", err)
	}
}

const (
	wordsText = `[{"server":"words","tool":"*","since":"2026-01-02T03:04:05.678Z"}]`
	otherText = `[{"server":"other","tool":"*","since":"2026-01-02T03:04:06.789Z"}]`
	bothText  = `[{"server":"words","tool":"*","since":"2026-01-02T03:04:05.678Z"},{"server":"other","tool":"*","since":"2026-01-02T03:04:06.789Z"}]`
	againText = `[{"server":"words","tool":"*","since":"2126-01-02T03:04:05.678Z"}]`
)

// TestUnkeptStopStays: a stop that cannot be written holds beside what others write
// until it can be, and then for everybody.
func TestUnkeptStopStays(t *testing.T) {
	for name, before := range map[string]string{"no file": "", "a file": "[]", "another reason": wordsText} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, before)
			free := p.block(t)
			wantUnkept(t, p.Stop(t.Context(), stops.Stop{Server: "words", Reason: "of here"}))
			p.wantLog(t, "ERROR", "cannot be kept", "stop words/*", "lock")
			p.put(t, otherText)
			p.watch(t)
			p.want(t, "after another stop", "other/* words/*")
			p.put(t, bothText)
			p.watch(t)
			if why := p.Why(echo); !strings.Contains(why, "of here") {
				t.Errorf("an older stop of the same is in its place: %s", why)
			}
			p.put(t, otherText)
			if err := os.Rename(p.path, p.path+".gone"); err != nil {
				t.Fatal(err)
			}
			p.watch(t)
			p.want(t, "without the file", "words/*")
			p.wantLog(t, "ERROR", "ends with this process", "stop words/*")
			p.put(t, otherText)
			free()
			p.watch(t)
			p.want(t, "once it could be written", "other/* words/*")
			p.wantLog(t, "INFO", "is kept now", "stop words/*")
			if got := names(open(t, p.path)); got != "other/* words/*" {
				t.Errorf("the file says %q", got)
			}
		})
	}
}

// TestUnkeptStopOvertaken: of two stops of the same the later one counts, and what is
// stopped is listed by its time.
func TestUnkeptStopOvertaken(t *testing.T) {
	p := begin(t, "")
	p.block(t)
	wantUnkept(t, p.Stop(t.Context(), stops.Stop{Server: "words", Reason: "of here"}))
	p.put(t, strings.ReplaceAll(againText, "words", "other"))
	p.watch(t)
	p.want(t, "after a later stop of others", "words/* other/*")
	p.put(t, againText)
	p.watch(t)
	if why := p.Why(echo); why != "Server words was stopped by the operator." {
		t.Errorf("after a later stop of the same: %q", why)
	}
}

// TestUnkeptStopResumed: what was not kept and is lifted again leaves nothing to keep.
func TestUnkeptStopResumed(t *testing.T) {
	p := begin(t, otherText)
	free := p.block(t)
	wantUnkept(t, p.Stop(t.Context(), stops.Stop{Server: "words"}))
	if err := p.Resume(t.Context(), "words", ""); err != nil {
		t.Errorf("no file has it, and yet: %v", err)
	}
	free()
	p.watch(t)
	p.want(t, "afterwards", "other/*")
	if text, err := os.ReadFile(p.path); err != nil || string(text) != otherText {
		t.Errorf("the file was written: %v %s", err, text)
	}
}

// TestUnkeptResume: what was resumed and cannot be written is so until somebody stops
// it again, and then that is said.
func TestUnkeptResume(t *testing.T) {
	p := begin(t, wordsText)
	free := p.block(t)
	wantUnkept(t, p.Resume(t.Context(), "words", ""))
	p.want(t, "resumed", "")
	p.put(t, bothText)
	p.watch(t)
	p.want(t, "after another stop", "other/*")
	free()
	p.watch(t)
	p.want(t, "once it could be written", "other/*")
	if got := names(open(t, p.path)); got != "other/*" {
		t.Errorf("the file says %q", got)
	}

	p.put(t, wordsText)
	p.watch(t)
	free = p.block(t)
	wantUnkept(t, p.Resume(t.Context(), "words", ""))
	p.put(t, againText)
	p.watch(t)
	p.want(t, "stopped again", "words/*")
	p.wantLog(t, "ERROR", "stopped it again", "resume words/*")
	free()
	p.watch(t)
	p.want(t, "afterwards", "words/*")
}

// TestUnkeptResumeOfAll: to lift the stop of all is not to lift that of a file that
// breaks later, and holds when it is mended.
func TestUnkeptResumeOfAll(t *testing.T) {
	const all = `[{"server":"*","tool":"*","since":"2026-01-02T03:04:05.678Z"}]`
	p := begin(t, all)
	p.block(t)
	wantUnkept(t, p.Resume(t.Context(), "", ""))
	p.want(t, "resumed", "")
	p.put(t, `[{"server":`)
	p.watch(t)
	p.want(t, "broken", "*/*")
	p.put(t, all)
	p.watch(t)
	p.want(t, "mended", "")
}

// TestUnkeptInBrokenFile: a file that breaks while a stop waits is left as it is, for
// whoever mends it, and neither is lost.
func TestUnkeptInBrokenFile(t *testing.T) {
	p := begin(t, otherText)
	free := p.block(t)
	wantUnkept(t, p.Stop(t.Context(), stops.Stop{Server: "words"}))
	free()
	const half = `[{"server":`
	p.put(t, half)
	p.watch(t)
	if text, err := os.ReadFile(p.path); err != nil || string(text) != half {
		t.Errorf("the file was written: %v %s", err, text)
	}
	if why := p.Why(tool.ID{Server: "third", Name: "x"}); !strings.Contains(why, "cannot be read") {
		t.Errorf("not everything is stopped: %s", why)
	}
	p.put(t, otherText)
	p.watch(t)
	p.want(t, "mended", "other/* words/*")
	if got := names(open(t, p.path)); got != "other/* words/*" {
		t.Errorf("the file says %q", got)
	}
}

// TestResumeOfBrokenFile: whoever resumes all though the file is broken and cannot be
// written has resumed all, until the file breaks in another way or can be written anew.
func TestResumeOfBrokenFile(t *testing.T) {
	p := begin(t, `[{"server":`)
	p.wantLog(t, "ERROR", "cannot be read", "stops.json")
	free := p.block(t)
	wantUnkept(t, p.Resume(t.Context(), "", ""))
	p.watch(t)
	p.want(t, "resumed", "")
	p.put(t, `[{"server":5}]`)
	p.watch(t)
	p.want(t, "broken again", "*/*")
	wantUnkept(t, p.Resume(t.Context(), "", ""))
	free()
	p.watch(t)
	p.want(t, "once it could be written", "")
	if got := names(open(t, p.path)); got != "" {
		t.Errorf("the file says %q", got)
	}

	p.put(t, `[{"server":`)
	p.watch(t)
	free = p.block(t)
	wantUnkept(t, p.Resume(t.Context(), "", ""))
	p.put(t, otherText)
	p.watch(t)
	p.want(t, "mended", "other/*")
	wantUnkept(t, p.Stop(t.Context(), stops.Stop{Server: "words"}))
	const half = `[{"serv`
	p.put(t, half)
	free()
	p.watch(t)
	if why := p.Why(tool.ID{Server: "third", Name: "x"}); !strings.Contains(why, "cannot be read") {
		t.Errorf("not everything is stopped: %s", why)
	}
	if text, err := os.ReadFile(p.path); err != nil || string(text) != half {
		t.Errorf("the file was written: %v %s", err, text)
	}
}

// TestStopOnBrokenFile: a stop writes a broken file anew, in which all is stopped still.
func TestStopOnBrokenFile(t *testing.T) {
	p := begin(t, `[{"server":`)
	if err := p.Stop(t.Context(), stops.Stop{Server: "words"}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*stops.Stops{p.Stops, open(t, p.path)} {
		if why := s.Why(tool.ID{Server: "third", Name: "x"}); !strings.Contains(why, "what it said is lost") {
			t.Errorf("not everything is stopped: %q", why)
		}
	}
	p.want(t, "written anew", "*/* words/*")
}

// TestPassing: an error that passes stops everything until it has passed, loses
// nothing of what the file says and what was changed meanwhile, and says what it is.
func TestPassing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("who may make a link there is not everybody")
	}
	p := begin(t, otherText)
	if err := os.Rename(p.path, p.path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.path, p.path); err != nil {
		t.Fatal(err)
	}
	p.watch(t)
	p.watch(t)
	list := p.List()
	if len(list) != 1 || !strings.Contains(list[0].Reason, "too many levels") || time.Since(list[0].Since) > time.Hour {
		t.Errorf("it does not say why, and since when: %+v", list)
	}
	if why := p.Why(echo); !strings.Contains(why, "Every tool is stopped") || strings.Contains(why, p.path) {
		t.Errorf("the model is told %q", why)
	}
	if n := strings.Count(p.log.String(), "cannot be read"); n != 1 {
		t.Errorf("it is in the log %d times:\n%s", n, p.log.String())
	}
	wantUnkept(t, p.Stop(t.Context(), stops.Stop{Server: "words"}))
	wantUnkept(t, p.Resume(t.Context(), "", ""))
	p.watch(t)
	p.want(t, "all resumed", "words/*")
	wantUnkept(t, p.Stop(t.Context(), stops.Stop{}))
	p.watch(t)
	if info, err := os.Lstat(p.path); err != nil || info.Mode().IsRegular() {
		t.Errorf("what cannot be read was written anew: %v %v", info, err)
	}
	if err := os.Rename(p.path+".away", p.path); err != nil {
		t.Fatal(err)
	}
	p.watch(t)
	p.want(t, "when it has passed", "other/* words/* */*")
	p.wantLog(t, "INFO", "can be read again")
	if got := names(open(t, p.path)); got != "other/* words/* */*" {
		t.Errorf("the file says %q", got)
	}
}

// TestPassingPermission: a file that may be read again is the same file.
func TestPassingPermission(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("whoever runs this may read everything")
	}
	p := begin(t, "")
	p.put(t, otherText)
	for _, c := range []struct {
		mode os.FileMode
		want string
	}{{0, "*/*"}, {0o600, "other/*"}} {
		if err := os.Chmod(p.path, c.mode); err != nil {
			t.Fatal(err)
		}
		p.watch(t)
		p.want(t, "with mode "+c.mode.String(), c.want)
	}
}

// TestUnreadableSince: a broken file stops everything since it was written, for every
// process alike, and one in which a stop names nothing is broken.
func TestUnreadableSince(t *testing.T) {
	for _, text := range []string{`[{"server":`, `[{"server":"words"}]`, `[{"server":"[","tool":"*"}]`, "", "5"} {
		p := begin(t, "[]")
		p.put(t, text)
		p.watch(t)
		list := p.List()
		info, err := os.Stat(p.path)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 || list[0].Server != "*" || !list[0].Since.Equal(info.ModTime().Truncate(time.Millisecond)) {
			t.Errorf("%q: %+v, want one of all, since %s", text, list, info.ModTime())
		}
	}
}

// TestTooLong: what is too long is refused, and breaks no file.
func TestTooLong(t *testing.T) {
	p := begin(t, "")
	long := strings.Repeat("x", 2001)
	for _, s := range []stops.Stop{{Server: long}, {Server: "words", Tool: long}, {Server: "words", Reason: long}} {
		if err := p.Stop(t.Context(), s); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%v", err)
		}
	}
	p.want(t, "afterwards", "")
}
