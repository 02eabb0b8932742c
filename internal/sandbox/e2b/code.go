package e2b

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/sandbox"
)

const (
	maxSource = 1 << 20
	maxSaid   = 32 << 20 // of one line of the interpreter
	maxShown  = 50       // results of a cell
	maxRoom   = 1 << 20  // characters of all their texts
	maxImage  = 2 << 20
	maxImages = 4
	maxTrace  = 8000
)

// interrupt sends to the interpreter of a context what the keys Ctrl and C send. There
// is no request for that, but its process has the name of the context in its arguments.
const interrupt = `for p in /proc/[0-9]*; do
case "$(tr '\0' ' ' <"$p/cmdline" 2>/dev/null)" in *"kernel-$1.json"*) test "${p#/proc/}" = $$ || kill -INT "${p#/proc/}";; esac
done`

// Code runs a cell, once.
func (x *box) Code(ctx context.Context, c sandbox.Cell) (*sandbox.Outcome, error) {
	return x.python.run(ctx, c)
}

// An interpreter is the one in a machine.
type interpreter struct {
	x    *box
	turn chan struct{} // held by the cell that runs, and with it the rest

	id    string // of its context
	cells int    // that it has counted
	lost  string // what has ended the one before, until that is told
}

func (k *interpreter) run(ctx context.Context, c sandbox.Cell) (*sandbox.Outcome, error) {
	if len(c.Source) > maxSource {
		return nil, &sandbox.Error{Kind: sandbox.Invalid, Text: fmt.Sprintf("a cell has at most %d bytes: write data into a file instead", maxSource)}
	}
	select {
	case k.turn <- struct{}{}:
	case <-k.x.quit:
		return nil, k.x.gone()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-k.turn }()
	if err := k.x.gone(); err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		if err := k.ensure(ctx); err != nil {
			return nil, err
		}
		o, err := k.cell(ctx, c)
		if e, ok := errors.AsType[*statusError](err); ok && e.status == http.StatusNotFound && !again && k.x.here(ctx) {
			// The interpreter is gone, so it has not run the cell: another one does.
			k.id, k.lost = "", "E2B does not know it any more"
			continue
		}
		if err != nil {
			if o.Restarted {
				k.lost = "the cell before did not let itself be interrupted"
			}
			return o, k.trouble(ctx, err)
		}
		o.Lost, k.lost = k.lost, ""
		return o, nil
	}
}

// trouble tells what never ran from what may have.
func (k *interpreter) trouble(ctx context.Context, err error) error {
	e, ok := errors.AsType[*statusError](err)
	switch {
	case ok && e.status == http.StatusBadGateway && k.x.here(ctx):
		return &sandbox.Error{Kind: sandbox.Unavailable, Text: "nothing in the sandbox takes Python code: its template has no code interpreter (option e2b_template), or that has ended. The code was not run; run_command works"}
	case ok && e.status < 500:
		return k.x.trouble(ctx, "run the code", err, "The code was not run. ")
	}
	return k.x.trouble(ctx, "say what came of the code", err, "It may have run, in part or in whole; what was left of it was interrupted, and it was not run again. ")
}

// ensure has a context made where there is none. The caller holds the turn.
func (k *interpreter) ensure(ctx context.Context) error {
	if k.id != "" {
		return nil
	}
	var made struct {
		ID string `json:"id"`
	}
	err := k.tell(ctx, http.MethodPost, "/contexts", map[string]string{"language": "python", "cwd": sandbox.Home}, &made)
	if err == nil && !isName(made.ID, 100, "_-") {
		err = errors.New("its answer names no context")
	}
	if err != nil {
		return k.trouble(ctx, err)
	}
	k.id, k.cells = made.ID, 0
	return nil
}

// tell makes a short request of the code interpreter.
func (k *interpreter) tell(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, makeLimit)
	defer cancel()
	ctx, stop := k.x.within(ctx)
	defer stop()
	body, err := k.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	b, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(b, out)
}

// send makes a request of the code interpreter, once. The caller closes the answer.
func (k *interpreter) send(ctx context.Context, method, path string, in any) (io.ReadCloser, error) {
	b, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	k.x.w.dress(header, codePort)
	resp, body, err := k.x.w.codeHTTP.Open(ctx, egress.Request{Method: method, URL: k.x.w.code + path, Header: header, Body: b, MaxBody: endless})
	if err != nil {
		return nil, err
	}
	if !resp.OK() {
		return nil, failed(resp.Status, body, k.x.w.secrets)
	}
	return body, nil
}

// cell runs a cell in the context.
func (k *interpreter) cell(ctx context.Context, c sandbox.Cell) (*sandbox.Outcome, error) {
	// The stream outlives ctx, for what it says after an interrupt.
	stream, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	h := &hearing{out: sandbox.NewClip(c.Keep), err: sandbox.NewClip(c.Keep), room: min(max(c.Keep, sandbox.DefaultKeep), maxRoom)}
	began := time.Now()
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(done)
		h.failed = k.listen(stream, c.Source, h)
	})
	var late <-chan time.Time
	if c.Timeout > 0 {
		t := time.NewTimer(c.Timeout)
		defer t.Stop()
		late = t.C
	}
	timedOut, restarted := false, false
	var err error
	select {
	case <-done:
		err = h.failed
		if e, ok := errors.AsType[*statusError](err); err != nil && (!ok || e.status >= 500) {
			k.stop(ctx, nil) // it may run still
		}
	case <-k.x.quit:
		err = context.Canceled
	case <-late:
		timedOut = true
		restarted = k.stop(ctx, done)
	case <-ctx.Done():
		err = ctx.Err()
		restarted = k.stop(ctx, done)
	}
	cancel()
	reader.Wait()
	o := h.outcome()
	k.count(h, restarted)
	o.TimedOut, o.Restarted, o.Took = timedOut, o.Restarted || restarted, time.Since(began)
	return o, err
}

// count notes how many cells the interpreter has run. Where it begins to count again, it
// is another one, whose like the service starts by itself.
func (k *interpreter) count(h *hearing, restarted bool) {
	if h.counted > 0 && h.counted <= k.cells {
		k.lost = "it has ended by itself, or was killed, while no cell ran"
	}
	k.cells = max(h.counted, 0)
	if restarted || h.broken {
		k.cells = 0
	}
}

// stop interrupts the cell that runs, and ends the interpreter where that does not help
// in time. It reports whether the state is lost. Done is closed when the cell has ended;
// nil is for nobody knows.
func (k *interpreter) stop(ctx context.Context, done <-chan struct{}) (restarted bool) {
	if k.x.gone() != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askLimit)
	defer cancel()
	_ = k.x.order(ctx, interrupt, k.id) // where it does not work the next thing does
	if done == nil {
		return false
	}
	t := time.NewTimer(ending)
	defer t.Stop()
	select {
	case <-done:
		return false
	case <-k.x.quit:
		return true
	case <-t.C:
	}
	if k.tell(ctx, http.MethodPost, "/contexts/"+k.id+"/restart", struct{}{}, nil) != nil {
		_ = k.tell(ctx, http.MethodDelete, "/contexts/"+k.id, struct{}{}, nil) // it is not used again
		k.id = ""
	}
	t.Reset(ending) // for what the cell had said
	select {
	case <-done:
	case <-k.x.quit:
	case <-t.C:
	}
	return true
}

// listen sends a cell and hears what comes of it.
func (k *interpreter) listen(ctx context.Context, source string, h *hearing) error {
	body, err := k.send(ctx, http.MethodPost, "/execute", map[string]string{"code": source, "context_id": k.id})
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	r := bufio.NewReaderSize(body, 64<<10)
	for {
		line, whole, err := readLine(r)
		if len(line) > 0 {
			h.hear(line, whole)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// readLine returns a line, or its beginning where it is too long.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) <= maxSaid {
			line = append(line, part...)
		} else {
			whole = false
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), whole, err
		}
	}
}

// A hearing is what was heard of a cell.
type hearing struct {
	out, err *sandbox.Clip
	results  []sandbox.Rich
	missed   int // values besides
	room     int // characters of texts that are taken yet
	images   int
	counted  int // the number of the cell
	raised   *sandbox.Exception
	broken   bool // the interpreter has ended
	failed   error
}

// message is one line of the interpreter.
type message struct {
	Type string `json:"type"`
	Text string `json:"text"`

	HTML     string `json:"html"`
	Markdown string `json:"markdown"`
	SVG      string `json:"svg"`
	Latex    string `json:"latex"`
	PNG      string `json:"png"`
	JPEG     string `json:"jpeg"`
	Main     bool   `json:"is_main_result"`

	Name      string          `json:"name"`
	Value     string          `json:"value"`
	Traceback json.RawMessage `json:"traceback"`
	Count     int             `json:"execution_count"`
}

func (h *hearing) hear(line []byte, whole bool) {
	var m message
	if !whole || json.Unmarshal(line, &m) != nil {
		h.show(sandbox.Rich{Cut: true, Left: []string{fmt.Sprintf("an output of more than %d MiB, or in no form that is known, is left out: save it to a file", maxSaid>>20)}})
		return
	}
	switch m.Type {
	case "stdout":
		_, _ = io.WriteString(h.out, m.Text) // a clip takes all
	case "stderr":
		_, _ = io.WriteString(h.err, m.Text)
	case "result":
		if len(h.results) < maxShown || m.Main {
			h.show(h.rich(&m))
		} else {
			h.missed++
		}
	case "number_of_executions":
		h.counted = m.Count
	case "error":
		switch m.Name {
		case "ContextRestarting", "UnexpectedEndOfExecution":
			h.broken = true
		default:
			h.raised = m.exception()
		}
	case "unexpected_end_of_execution":
		h.broken = true
	}
}

// show keeps a value. For that of the last expression there is always room.
func (h *hearing) show(v sandbox.Rich) {
	if len(h.results) >= maxShown {
		h.missed++
		if !v.Main {
			return
		}
		h.results = h.results[:maxShown-1]
	}
	h.results = append(h.results, v)
}

// rich bounds the forms of a value.
func (h *hearing) rich(m *message) sandbox.Rich {
	v := sandbox.Rich{Main: m.Main}
	left := func(format string, args ...any) {
		v.Cut, v.Left = true, append(v.Left, fmt.Sprintf(format, args...))
	}
	if v.Text = m.Text; len(v.Text) > max(h.room, 200) {
		left("its text of %d characters is cut, of which %d had room", utf8.RuneCountInString(v.Text), max(h.room, 200))
		v.Text = strings.ToValidUTF8(v.Text[:max(h.room, 200)], "")
	}
	h.room -= len(v.Text)
	for _, f := range []struct {
		name, from string
		to         *string
	}{{"Markdown", m.Markdown, &v.Markdown}, {"HTML", m.HTML, &v.HTML}, {"LaTeX", m.Latex, &v.Latex}, {"SVG", m.SVG, &v.SVG}} {
		if len(f.from) > h.room {
			left("its %s of %d characters is left out, for %d have room", f.name, utf8.RuneCountInString(f.from), max(h.room, 0))
			continue
		}
		h.room -= len(f.from)
		*f.to = f.from
	}
	for _, f := range []struct {
		from string
		to   *[]byte
	}{{m.PNG, &v.PNG}, {m.JPEG, &v.JPEG}} {
		b, ok := decode(f.from)
		switch {
		case len(b) == 0 || !ok:
		case len(b) > maxImage:
			left("its image of %.1f MiB is left out, for an image may have %d MiB: make it smaller (figsize, dpi) or save it to a file", float64(len(b))/(1<<20), maxImage>>20)
		case h.images >= maxImages:
			left("its image is left out, for a cell shows at most %d: show the others in further cells", maxImages)
		default:
			h.images++
			*f.to = b
		}
	}
	return v
}

// decode reads an image, which may be broken into lines.
func decode(s string) ([]byte, bool) {
	b, err := base64.StdEncoding.DecodeString(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, s))
	return b, err == nil
}

func (h *hearing) outcome() *sandbox.Outcome {
	o := &sandbox.Outcome{Results: h.results, Missed: h.missed, Error: h.raised, Restarted: h.broken}
	var left int64
	o.Stdout, o.Left = h.out.Text()
	o.Stderr, left = h.err.Text()
	o.Left += left
	return o
}

// colors are what terminals take for such; made when the first cell has raised something.
var colors = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`) })

// exception is what was raised, without colors.
func (m *message) exception() *sandbox.Exception {
	e := &sandbox.Exception{Name: egress.Plain(m.Name, 200), Value: egress.Cut(colors().ReplaceAllString(m.Value, ""), 2000)}
	var text string
	var lines []string
	if json.Unmarshal(m.Traceback, &text) != nil && json.Unmarshal(m.Traceback, &lines) == nil {
		text = strings.Join(lines, "\n")
	}
	if text = colors().ReplaceAllString(text, ""); len(text) > maxTrace {
		text = text[:2000] + "\n[...]\n" + text[len(text)-maxTrace+2000:]
	}
	e.Traceback = strings.ToValidUTF8(text, "\uFFFD")
	return e
}
