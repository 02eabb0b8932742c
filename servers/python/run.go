package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/typed"
)

type createInput struct {
	Timeout int `json:"timeout,omitempty" jsonschema:"seconds without use after which the sandbox ends; more than the server allows is cut to that"`
}

type createOutput struct {
	SandboxID string   `json:"sandbox_id" jsonschema:"name of the sandbox for the other tools"`
	Level     string   `json:"level" jsonschema:"how it is kept apart: namespaces, landlock, container or kernel"`
	Python    string   `json:"python" jsonschema:"version of the interpreter"`
	Timeout   int      `json:"timeout_sec" jsonschema:"seconds without use after which it ends"`
	MemoryMB  int64    `json:"memory_mb,omitempty" jsonschema:"memory that it may use, where that is known"`
	DiskMB    int64    `json:"disk_mb,omitempty" jsonschema:"space for its files, where that is known"`
	Notes     []string `json:"notes,omitempty" jsonschema:"what is special here"`
}

func (s *server) addCreate(srv *mcp.Server) {
	typed.AddContent(srv, typed.Spec{
		Name: "create_sandbox", Title: "Create a sandbox",
		Description: "Creates a sandbox for Python and shell commands and returns its sandbox_id, which the other tools need: wait for it before you call them. " +
			"Files lie in /home/user. " + s.network("There is no network inside: bring files in with the upload and download tools.") + " It ends when it was not used for timeout seconds.",
		Defaults: map[string]any{"timeout": 600}, Annotations: changes(false), MaxArguments: maxArguments,
	}, func(ctx context.Context, req *mcp.CallToolRequest, in createInput) ([]mcp.Content, createOutput, error) {
		if in.Timeout < 1 {
			return nil, createOutput{}, fmt.Errorf("timeout must be at least 1 second, not %d", in.Timeout)
		}
		ctx = telling(ctx, req)
		status, err := s.backend.Check(ctx)
		if err != nil {
			return nil, createOutput{}, s.told(err)
		}
		idle := min(s.idle, time.Duration(min(in.Timeout, 1<<20))*time.Second)
		h, err := s.boxes.create(ctx, req, s.spec, idle)
		if err != nil {
			return nil, createOutput{}, s.told(err)
		}
		out := createOutput{
			SandboxID: h.id, Level: status.Level, Python: status.Python, Timeout: int(idle / time.Second),
			MemoryMB: s.spec.Memory >> 20, DiskMB: s.spec.Disk >> 20, Notes: status.Notes,
		}
		if status.Size != nil {
			out.MemoryMB, out.DiskMB = status.Size.Memory>>20, status.Size.Disk>>20
		}
		text := fmt.Sprintf("Sandbox created with sandbox_id: %s\nPython %s, %s of memory, %s for files in /home/user. It ends after %d s without use. %s",
			out.SandboxID, out.Python, mib(out.MemoryMB), mib(out.DiskMB), out.Timeout, s.network("There is no network."))
		return typed.Text(cut(text, 500)), out, nil
	})
}

// telling lets a caller that wants to know hear how far a sandbox is whose image is
// fetched first.
func telling(ctx context.Context, req *mcp.CallToolRequest) context.Context {
	token := req.Params.GetProgressToken()
	if token == nil {
		return ctx
	}
	told := 0.0
	return sandbox.Telling(ctx, func(p sandbox.Progress) {
		message := p.Doing
		if p.Done > 0 {
			message += fmt.Sprintf(": %d MiB so far", p.Done>>20)
		}
		// The bytes of layers that are still unknown make their sum no measure.
		told++
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: told, Message: message}) // one that is lost is followed by others
	})
}

// mib is an amount that may not be known.
func mib(n int64) string {
	if n == 0 {
		return "an unknown amount"
	}
	return fmt.Sprintf("%d MiB", n)
}

// told makes an error one for a model: what has nothing to do for it is said shortly.
func (s *server) told(err error) error {
	if e, ok := errors.AsType[*sandbox.Error](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) {
		return errors.New("the call was canceled")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the call took too long and was ended")
	}
	return fmt.Errorf("the sandbox does not work: %w", err)
}

// network says what code reaches, and without a network what is given.
func (s *server) network(none string) string {
	if s.internet {
		return "Code reaches the internet."
	}
	if s.outlet == nil {
		return none
	}
	return "Code reaches these hosts by HTTP and HTTPS, through the proxy that is set in its environment: " + cut(s.outlet.Hosts(), 200) + "."
}

type commandInput struct {
	Command   string `json:"command" jsonschema:"line for the shell (sh), run once in /home/user"`
	SandboxID string `json:"sandbox_id" jsonschema:"name of the sandbox, from create_sandbox"`
}

type commandOutput struct {
	Stdout   string `json:"stdout" jsonschema:"what it wrote to standard output"`
	Stderr   string `json:"stderr" jsonschema:"what it wrote to standard error"`
	ExitCode int    `json:"exit_code" jsonschema:"exit code; 128 and the number of the signal where one ended it"`
	TimedOut bool   `json:"timed_out" jsonschema:"it took too long and was killed"`
	LeftOut  int64  `json:"left_out_bytes,omitempty" jsonschema:"bytes of output that were left out of the middle"`
	Note     string `json:"note,omitempty" jsonschema:"which limit was met"`
}

func (s *server) addCommand(srv *mcp.Server) {
	typed.AddContent(srv, typed.Spec{
		Name: "run_command", Title: "Run a command",
		Description: "Runs a shell command once in a sandbox and returns its output and exit code. It runs as an ordinary user without sudo. " +
			s.network("There is no network, so pip install and apt-get cannot fetch anything.") + " Processes in the background stay; redirect their output into a file.",
		Annotations: changes(false), MaxArguments: maxArguments,
	}, func(ctx context.Context, req *mcp.CallToolRequest, in commandInput) ([]mcp.Content, commandOutput, error) {
		if strings.TrimSpace(in.Command) == "" {
			return nil, commandOutput{}, errors.New("command is empty")
		}
		h, done, err := s.boxes.use(req, in.SandboxID)
		if err != nil {
			return nil, commandOutput{}, err
		}
		defer done()
		o, err := h.Command(ctx, sandbox.Command{Line: in.Command, Timeout: s.run, Keep: s.most})
		if err != nil {
			return nil, commandOutput{}, s.told(err)
		}
		out := commandOutput{Stdout: o.Stdout, Stderr: o.Stderr, ExitCode: o.ExitCode, TimedOut: o.TimedOut, LeftOut: o.Left, Note: o.Note}
		var t text
		t.add("exit code: %d", out.ExitCode)
		if out.TimedOut {
			t.add("It took longer than %d s and was killed. Let it run in the background, with its output in a file, or do less at once.", int(s.run/time.Second))
		}
		if s.outlet == nil && !s.internet && fetches(in.Command) && out.ExitCode != 0 {
			t.add("There is no network in a sandbox, so nothing can be installed: use what is there, or bring files in with download_file_from_internet_to_sandbox.")
		}
		t.note(out.Note)
		t.streams(s.most, o.Left, out.Stdout, out.Stderr)
		out = fitted(s.most, func(budget int) commandOutput {
			less := out
			less.Stdout, less.Stderr = apportion(budget, out.Stdout, out.Stderr)
			return less
		})
		return typed.Text(t.within(s.most)), out, nil
	})
}

// fetches reports whether a command wants to install something.
func fetches(command string) bool {
	for _, w := range []string{"pip install", "pip3 install", "apt-get", "apt install", "conda install", "npm install", "wget ", "curl "} {
		if strings.Contains(command, w) {
			return true
		}
	}
	return false
}

type codeInput struct {
	Code      string `json:"code_block" jsonschema:"Python; the value of a last expression is returned, as in a notebook"`
	SandboxID string `json:"sandbox_id" jsonschema:"name of the sandbox, from create_sandbox"`
}

type pythonInput struct {
	Code string `json:"code" jsonschema:"Python; the value of a last expression is returned, as in a notebook"`
}

type codeOutput struct {
	Stdout    string             `json:"stdout" jsonschema:"what was printed"`
	Stderr    string             `json:"stderr" jsonschema:"what was written to standard error"`
	Result    string             `json:"result" jsonschema:"value of the last expression"`
	Shown     []shown            `json:"shown,omitempty" jsonschema:"what was displayed, with the value of the last expression"`
	Error     *sandbox.Exception `json:"error,omitempty" jsonschema:"the exception, where one was raised"`
	TimedOut  bool               `json:"timed_out" jsonschema:"it took too long and was interrupted"`
	Restarted bool               `json:"interpreter_restarted" jsonschema:"the interpreter has ended, and its variables are lost"`
	LeftOut   int64              `json:"left_out_bytes,omitempty" jsonschema:"bytes of output that were left out of the middle"`
	Seconds   float64            `json:"seconds" jsonschema:"time that it took inside"`
	Note      string             `json:"note,omitempty" jsonschema:"which limit was met"`
	Missed    int                `json:"not_shown,omitempty" jsonschema:"values that were displayed and are not among shown"`
}

// shown is one value in its forms; images come as content beside it.
type shown struct {
	Text     string `json:"text,omitempty" jsonschema:"as text"`
	HTML     string `json:"html,omitempty" jsonschema:"as HTML"`
	Markdown string `json:"markdown,omitempty" jsonschema:"as Markdown"`
	Image    bool   `json:"image,omitempty" jsonschema:"an image of it is among the contents"`

	Left []string `json:"left_out,omitempty" jsonschema:"what of it was too large, and what to do"`
}

func (s *server) addCode(srv *mcp.Server) {
	typed.AddContent(srv, typed.Spec{
		Name: "run_python_code", Title: "Run Python",
		Description: "Runs Python once in the interpreter of a sandbox. Variables, imports and files stay for the next call. Returns what was printed, the value of the last expression, a traceback where it failed, " +
			"and figures of matplotlib as images. " + s.network("No network.") + " A cell that takes too long is interrupted, and keeps what it has computed.",
		Annotations: changes(false), MaxArguments: maxArguments,
	}, func(ctx context.Context, req *mcp.CallToolRequest, in codeInput) ([]mcp.Content, codeOutput, error) {
		h, done, err := s.boxes.use(req, in.SandboxID)
		if err != nil {
			return nil, codeOutput{}, err
		}
		defer done()
		return s.cell(ctx, h, in.Code)
	})
}

func (s *server) addStateless(srv *mcp.Server) {
	typed.AddContent(srv, typed.Spec{
		Name: "python", Title: "Run Python once",
		Description: "Runs Python once in a sandbox of its own that is gone afterwards: good for a calculation. Nothing stays for the next call; use create_sandbox and run_python_code for that. " +
			"Returns what was printed, the value of the last expression, and a traceback where it failed. " + s.network("No network."),
		Annotations: changes(false), MaxArguments: maxArguments,
	}, func(ctx context.Context, req *mcp.CallToolRequest, in pythonInput) ([]mcp.Content, codeOutput, error) {
		h, err := s.boxes.create(telling(ctx, req), req, s.spec, s.run+time.Minute)
		if err != nil {
			return nil, codeOutput{}, s.told(err)
		}
		defer func() { _ = h.Kill(context.WithoutCancel(ctx)) }() // it is not needed any more
		return s.cell(ctx, h, in.Code)
	})
}

func (s *server) cell(ctx context.Context, x sandbox.Sandbox, code string) ([]mcp.Content, codeOutput, error) {
	if strings.TrimSpace(code) == "" {
		return nil, codeOutput{}, errors.New("the code is empty")
	}
	o, err := x.Code(ctx, sandbox.Cell{Source: code, Timeout: s.run, Keep: s.most})
	if err != nil {
		return nil, codeOutput{}, s.told(err)
	}
	out := fitted(s.most, func(budget int) codeOutput { return dataOf(o, budget) })
	var t text
	if out.TimedOut {
		t.add("It took longer than %d s and was interrupted.", int(s.run/time.Second))
	}
	if o.Lost != "" {
		t.add("The interpreter was started anew before this code ran, for %s: all variables and imports of before are lost, files are still there.", o.Lost)
	}
	if o.Restarted {
		t.add("The interpreter has ended: all variables and imports are lost, files are still there. The code was not run again.")
	}
	t.note(out.Note)
	images := t.results(o)
	if o.Error != nil {
		t.block("error", o.Error.Traceback)
	}
	t.streams(s.most, o.Left, o.Stdout, o.Stderr)
	if t.b.Len() == 0 {
		t.add("It has run, and has printed nothing.")
	}
	return append(typed.Text(t.within(s.most)), images...), out, nil
}

// dataOf is an outcome as data, within about so many characters.
func dataOf(o *sandbox.Outcome, budget int) codeOutput {
	out := codeOutput{
		TimedOut: o.TimedOut, Restarted: o.Restarted || o.Lost != "",
		LeftOut: o.Left, Missed: o.Missed, Seconds: o.Took.Seconds(), Note: o.Note,
	}
	left := budget
	if o.Error != nil {
		e := *o.Error
		e.Name, e.Value, e.Traceback = middle(e.Name, left/8), middle(e.Value, left/8), middle(e.Traceback, left/2)
		left -= length(e.Value) + length(e.Traceback)
		out.Error = &e
	}
	take := func(s string, most int, part bool) string {
		if length(s) > most && !part {
			return ""
		}
		s = cut(s, max(most, 0))
		left -= length(s)
		return s
	}
	others := 0 // what results would take
	for _, r := range o.Results {
		others += length(r.Text) + length(r.Markdown) + length(r.HTML)
		if r.Main {
			others += length(r.Text)
		}
	}
	streams := min(max(left/2, left-others), length(o.Stdout)+length(o.Stderr))
	left -= streams
	out.Stdout, out.Stderr = apportion(streams, o.Stdout, o.Stderr)
	for _, r := range o.Results {
		v := shown{Text: take(r.Text, left/2, true), Left: r.Left, Image: len(r.PNG)+len(r.JPEG) > 0}
		v.Markdown, v.HTML = take(r.Markdown, left, false), take(r.HTML, left, false)
		if v.Text != r.Text || v.Markdown != r.Markdown || v.HTML != r.HTML {
			v.Left = append(slices.Clip(v.Left), "not all of it has room in the data of one answer")
		}
		if r.Main {
			out.Result = take(r.Text, left, true)
		}
		out.Shown = append(out.Shown, v)
	}
	if over := len(out.Shown) - budget/200; over > 0 { // so many small ones
		out.Shown, out.Missed = out.Shown[over:], out.Missed+over
	}
	return out
}

// fitted builds data that has at most so many characters as JSON.
func fitted[T any](most int, build func(budget int) T) T {
	for budget := most; budget > 0; {
		out := build(budget)
		b, err := json.Marshal(out)
		n := utf8.RuneCount(b)
		if err != nil || n <= most {
			return out
		}
		budget = int(float64(budget) * float64(most) / float64(n) * 0.95)
	}
	return build(0)
}

// results writes values and returns their images.
func (t *text) results(o *sandbox.Outcome) []mcp.Content {
	var images []mcp.Content
	for _, r := range o.Results {
		for _, image := range []struct {
			data []byte
			mime string
		}{{r.PNG, "image/png"}, {r.JPEG, "image/jpeg"}} {
			if len(image.data) > 0 {
				images = append(images, &mcp.ImageContent{Data: image.data, MIMEType: image.mime})
				break
			}
		}
		name := "shown"
		if r.Main {
			name = "result"
		}
		if r.Markdown != "" {
			t.block(name, r.Markdown)
		} else {
			t.block(name, r.Text)
		}
		switch {
		case len(r.Left) > 0:
			t.add("Of that, %s.", strings.Join(r.Left, "; "))
		case r.Cut:
			t.add("A part of that was too large and is left out: save it to a file.")
		}
	}
	if o.Missed > 0 {
		t.add("%d more values were shown than an answer takes, and are left out: show fewer, or print them.", o.Missed)
	}
	return images
}

// A text is the answer for a model.
type text struct{ b strings.Builder }

func (t *text) add(format string, args ...any) { fmt.Fprintf(&t.b, format+"\n", args...) }

func (t *text) note(s string) {
	if s != "" {
		t.add("Limit met: %s.", s)
	}
}

func (t *text) block(name, s string) {
	if s == "" {
		return
	}
	if strings.Contains(strings.TrimSuffix(s, "\n"), "\n") {
		t.add("%s:\n%s", name, strings.TrimSuffix(s, "\n"))
		return
	}
	t.add("%s: %s", name, strings.TrimSuffix(s, "\n"))
}

// streams writes what was printed, in the room that an answer of at most so many
// characters still has. That some was left out stands before it: whoever reads the
// beginning alone must not take what a gateway keeps of the answer for all that was printed.
func (t *text) streams(most int, left int64, stdout, stderr string) {
	const around = 300 // what stands about them
	used := utf8.RuneCountInString(t.b.String())
	a, b := apportion(max(most-used-around, most/4), stdout, stderr)
	left += int64(len(stdout) + len(stderr) - len(a) - len(b))
	if left > 0 {
		t.add("%d bytes of output were left out of the middle, and are kept nowhere: let it write into a file, and look at parts of that.", left)
	}
	t.block("stdout", a)
	t.block("stderr", b)
}

// within returns the text, cut to so many characters.
func (t *text) within(most int) string {
	s := strings.ToValidUTF8(t.b.String(), "\uFFFD")
	const mark = " [Result truncated due to length limit]"
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return cut(s, most-len(mark)) + mark
}

// apportion gives two streams so many characters together: what one does not need is for
// the other. What is cut is the middle.
func apportion(most int, a, b string) (string, string) {
	na, nb := length(a), length(b)
	ma, mb := max(most/2, most-nb), max(most/2, most-na)
	return middle(a, ma), middle(b, mb)
}

func length(s string) int { return utf8.RuneCountInString(s) }

// middle returns at most n characters, the first and the last ones.
func middle(s string, n int) string {
	all := []rune(s)
	if len(all) <= n {
		return s
	}
	const between = "\n[… the middle is left out …]\n"
	half := (n - length(between)) / 2
	if half <= 0 {
		return string(all[:max(n, 0)])
	}
	return string(all[:half]) + between + string(all[len(all)-half:])
}

// cut returns at most n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}
