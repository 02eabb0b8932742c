package python

import (
	"context"
	"errors"
	"fmt"
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
	Level     string   `json:"level" jsonschema:"how it is kept apart: namespaces or landlock"`
	Python    string   `json:"python" jsonschema:"version of the interpreter"`
	Timeout   int      `json:"timeout_sec" jsonschema:"seconds without use after which it ends"`
	MemoryMB  int64    `json:"memory_mb" jsonschema:"memory that it may use"`
	DiskMB    int64    `json:"disk_mb" jsonschema:"space for its files"`
	Notes     []string `json:"notes,omitempty" jsonschema:"what is special here"`
}

func (s *server) addCreate(srv *mcp.Server) {
	typed.AddContent(srv, typed.Spec{
		Name: "create_sandbox", Title: "Create a sandbox",
		Description: "Creates a sandbox for Python and shell commands and returns its sandbox_id, which the other tools need: wait for it before you call them. " +
			"Files lie in /home/user. There is no network inside: bring files in with the upload and download tools. It ends when it was not used for timeout seconds.",
		Defaults: map[string]any{"timeout": 600}, Annotations: changes(false), MaxArguments: maxArguments,
	}, func(ctx context.Context, req *mcp.CallToolRequest, in createInput) ([]mcp.Content, createOutput, error) {
		if in.Timeout < 1 {
			return nil, createOutput{}, fmt.Errorf("timeout must be at least 1 second, not %d", in.Timeout)
		}
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
		text := fmt.Sprintf("Sandbox created with sandbox_id: %s\nPython %s, %d MiB of memory, %d MiB for files in /home/user, no network. It ends after %d s without use.",
			out.SandboxID, out.Python, out.MemoryMB, out.DiskMB, out.Timeout)
		return typed.Text(cut(text, 500)), out, nil
	})
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
		Description: "Runs a shell command once in a sandbox and returns its output and exit code. It runs as an ordinary user without sudo and without network, so pip install and apt-get cannot fetch anything. " +
			"Processes in the background stay; redirect their output into a file.",
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
		o, err := h.Command(ctx, sandbox.Command{Line: in.Command, Timeout: s.run, Keep: maxChars})
		if err != nil {
			return nil, commandOutput{}, s.told(err)
		}
		out := commandOutput{Stdout: o.Stdout, Stderr: o.Stderr, ExitCode: o.ExitCode, TimedOut: o.TimedOut, LeftOut: o.Left, Note: o.Note}
		var t text
		t.add("exit code: %d", out.ExitCode)
		if out.TimedOut {
			t.add("It took longer than %d s and was killed. Let it run in the background, with its output in a file, or do less at once.", int(s.run/time.Second))
		}
		if fetches(in.Command) && out.ExitCode != 0 {
			t.add("There is no network in a sandbox, so nothing can be installed: use what is there, or bring files in with download_file_from_internet_to_sandbox.")
		}
		t.note(out.Note)
		t.block("stdout", out.Stdout)
		t.block("stderr", out.Stderr)
		return typed.Text(t.String()), out, nil
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
}

// shown is one value in its forms; images come as content beside it.
type shown struct {
	Text     string `json:"text,omitempty" jsonschema:"as text"`
	HTML     string `json:"html,omitempty" jsonschema:"as HTML"`
	Markdown string `json:"markdown,omitempty" jsonschema:"as Markdown"`
	Image    bool   `json:"image,omitempty" jsonschema:"an image of it is among the contents"`
}

func (s *server) addCode(srv *mcp.Server) {
	typed.AddContent(srv, typed.Spec{
		Name: "run_python_code", Title: "Run Python",
		Description: "Runs Python once in the interpreter of a sandbox. Variables, imports and files stay for the next call. Returns what was printed, the value of the last expression, a traceback where it failed, " +
			"and figures of matplotlib as images. No network. A cell that takes too long is interrupted, and keeps what it has computed.",
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
			"Returns what was printed, the value of the last expression, and a traceback where it failed. No network.",
		Annotations: changes(false), MaxArguments: maxArguments,
	}, func(ctx context.Context, req *mcp.CallToolRequest, in pythonInput) ([]mcp.Content, codeOutput, error) {
		h, err := s.boxes.create(ctx, req, s.spec, s.run+time.Minute)
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
	o, err := x.Code(ctx, sandbox.Cell{Source: code, Timeout: s.run, Keep: maxChars})
	if err != nil {
		return nil, codeOutput{}, s.told(err)
	}
	out := codeOutput{
		Stdout: o.Stdout, Stderr: o.Stderr, Error: o.Error, TimedOut: o.TimedOut, Restarted: o.Restarted,
		LeftOut: o.Left, Seconds: o.Took.Seconds(), Note: o.Note,
	}
	var t text
	if out.TimedOut {
		t.add("It took longer than %d s and was interrupted.", int(s.run/time.Second))
	}
	if out.Restarted {
		t.add("The interpreter has ended: all variables and imports are lost, files are still there. The code was not run again.")
	}
	t.note(out.Note)
	images := t.results(o.Results, &out)
	if out.Error != nil {
		t.block("error", out.Error.Traceback)
	}
	t.block("stdout", out.Stdout)
	t.block("stderr", out.Stderr)
	if t.b.Len() == 0 {
		t.add("It has run, and has printed nothing.")
	}
	return append(typed.Text(t.String()), images...), out, nil
}

// results writes values and returns their images.
func (t *text) results(all []sandbox.Rich, out *codeOutput) []mcp.Content {
	const budget = maxChars // of all forms together, in the data
	var images []mcp.Content
	left := budget
	for _, r := range all {
		v := shown{Text: r.Text}
		for _, form := range []struct{ from, to *string }{{&r.HTML, &v.HTML}, {&r.Markdown, &v.Markdown}} {
			if len(*form.from) <= left {
				*form.to = *form.from
				left -= len(*form.from)
			}
		}
		v.Text = cut(v.Text, max(left, 200))
		left -= len(v.Text)
		for _, image := range []struct {
			data []byte
			mime string
		}{{r.PNG, "image/png"}, {r.JPEG, "image/jpeg"}} {
			if len(image.data) > 0 {
				images = append(images, &mcp.ImageContent{Data: image.data, MIMEType: image.mime})
				v.Image = true
				break
			}
		}
		if r.Main {
			out.Result = v.Text
		}
		out.Shown = append(out.Shown, v)
		name := "shown"
		if r.Main {
			name = "result"
		}
		switch {
		case v.Markdown != "":
			t.block(name, v.Markdown)
		default:
			t.block(name, v.Text)
		}
		if r.Cut {
			t.add("A part of that was too large and is left out: save it to a file.")
		}
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

// String returns the text, cut to what an answer may have.
func (t *text) String() string {
	s := strings.ToValidUTF8(t.b.String(), "\uFFFD")
	const mark = " [Result truncated due to length limit]"
	if utf8.RuneCountInString(s) <= maxChars {
		return s
	}
	return cut(s, maxChars-len(mark)) + mark
}

// cut returns at most n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}
