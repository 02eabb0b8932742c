package e2bdouble

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/kernel"
)

// program is a Python that keeps its state. It shows more than that of local sandboxes,
// for the code interpreter bounds nothing.
var program = strings.Replace(kernel.Source, "TEXT, IMAGE, IMAGES, SHOWN = 20000, 2 << 20, 4, 50", "TEXT, IMAGE, IMAGES, SHOWN = 1 << 20, 4 << 20, 6, 100", 1)

// interpreters are the contexts of a machine.
type interpreters struct {
	mu       sync.Mutex
	contexts map[string]*interpreter
	tasks    sync.WaitGroup
}

// An interpreter is one context: a Python that keeps its state.
type interpreter struct {
	m        *machine
	id, cwd  string
	executed int

	turn chan struct{}
	mu   sync.Mutex
	now  *kernel.Kernel
	pid  int
}

func (m *machine) context(id string) *interpreter {
	m.inside.mu.Lock()
	defer m.inside.mu.Unlock()
	return m.inside.contexts[id]
}

// add makes a context. Its process starts with its first cell.
func (m *machine) add(id, cwd string) *interpreter {
	m.inside.mu.Lock()
	defer m.inside.mu.Unlock()
	if m.inside.contexts == nil {
		m.inside.contexts = map[string]*interpreter{}
	}
	if k := m.inside.contexts[id]; k != nil {
		return k
	}
	k := &interpreter{m: m, id: id, cwd: cwd, turn: make(chan struct{}, 1)}
	m.inside.contexts[id] = k
	return k
}

// interpret serves the code interpreter of a machine.
func (m *machine) interpret(w http.ResponseWriter, r *http.Request, body []byte) {
	if m.template == "base" {
		reply(w, http.StatusBadGateway, object{"sandboxId": m.id, "message": "The sandbox is running but port is not open", "port": 49999, "code": http.StatusBadGateway})
		return
	}
	var in struct {
		Code     string            `json:"code"`
		Context  *string           `json:"context_id"`
		Language *string           `json:"language"`
		Envs     map[string]string `json:"env_vars"`
		Cwd      string            `json:"cwd"`
	}
	if len(body) > 0 && json.Unmarshal(body, &in) != nil {
		reply(w, http.StatusUnprocessableEntity, object{"detail": "the body is not valid"})
		return
	}
	id, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/contexts/"), "/")
	switch {
	case r.URL.Path == "/health":
		reply(w, http.StatusOK, "OK")
	case r.URL.Path == "/execute" && r.Method == http.MethodPost:
		name := "default"
		if in.Context != nil {
			name = *in.Context
		} else {
			m.add(name, home)
		}
		m.execute(w, r, name, in.Code)
	case r.URL.Path == "/contexts" && r.Method == http.MethodPost:
		k := m.add(strings.ToLower(rand.Text()), orElse(in.Cwd, home))
		reply(w, http.StatusOK, object{"id": k.id, "language": "python", "cwd": k.cwd})
	case r.URL.Path == "/contexts":
		all := []object{}
		m.inside.mu.Lock()
		for _, k := range m.inside.contexts {
			all = append(all, object{"id": k.id, "language": "python", "cwd": k.cwd})
		}
		m.inside.mu.Unlock()
		reply(w, http.StatusOK, all)
	case m.context(id) == nil:
		http.Error(w, "Context "+id+" not found", http.StatusNotFound)
	case r.Method == http.MethodPost && rest == "restart":
		m.context(id).kill()
		reply(w, http.StatusOK, nil)
	case r.Method == http.MethodDelete:
		m.context(id).kill()
		m.inside.mu.Lock()
		delete(m.inside.contexts, id)
		m.inside.mu.Unlock()
		reply(w, http.StatusOK, nil)
	default:
		http.NotFound(w, r)
	}
}

// kill ends the process of a context.
func (k *interpreter) kill() {
	k.mu.Lock()
	pid := k.pid
	k.mu.Unlock()
	if pid != 0 {
		_, _, _ = k.m.send(order{Do: "signal", PID: pid, Signal: 9}) // a machine that is gone has none
	}
}

// close ends all of them. The machine is gone.
func (i *interpreters) close() {
	i.mu.Lock()
	var all []*interpreter
	for _, k := range i.contexts {
		all = append(all, k)
	}
	i.mu.Unlock()
	for _, k := range all {
		k.turn <- struct{}{} // and keeps it
		if k.now != nil {
			k.now.Close()
		}
	}
	i.tasks.Wait()
}

// ensure starts the process where none runs. The caller holds the turn.
func (k *interpreter) ensure() error {
	if k.now != nil {
		select {
		case <-k.now.Ended():
			k.now.Close()
			k.now = nil
		default:
			return nil
		}
	}
	k.executed = 0
	// The name of the context is in the arguments, as Jupyter has it.
	id, lines, err := k.m.send(order{
		Do: "start", Talks: true, Cwd: k.cwd,
		Argv: []string{"/usr/bin/python3", "-c", program, "-f", "/root/.local/share/jupyter/runtime/kernel-" + k.id + ".json"},
		Env:  k.m.environ(map[string]string{"PYTHONUNBUFFERED": "1", "MPLBACKEND": "Agg", "TMPDIR": "/tmp"}),
	})
	if err != nil {
		return err
	}
	pipes := map[string]*io.PipeWriter{}
	ends := map[string]io.ReadCloser{}
	for _, name := range []string{"stdout", "stderr", "answers"} {
		r, w := io.Pipe()
		pipes[name], ends[name] = w, r
	}
	k.m.inside.tasks.Go(func() {
		defer k.m.forget(id)
		defer func() {
			for _, w := range pipes {
				_ = w.Close() // it never fails
			}
		}()
		for {
			select {
			case t := <-lines:
				switch t.Event {
				case "start":
					k.mu.Lock()
					k.pid = t.PID
					k.mu.Unlock()
				case "data":
					_, _ = pipes[t.Stream].Write(t.Data) // its reader may be gone
				default:
					return
				}
			case <-k.m.gone:
				return
			}
		}
	})
	k.now = kernel.New(kernel.Pipes{Requests: input{k.m, id, "requests"}, Answers: ends["answers"], Stdout: ends["stdout"], Stderr: ends["stderr"]})
	return nil
}

// execute runs a cell. It goes on where nobody listens.
func (m *machine) execute(w http.ResponseWriter, r *http.Request, name, code string) {
	k := m.context(name)
	if k == nil {
		http.Error(w, "Context "+name+" not found", http.StatusNotFound)
		return
	}
	select {
	case k.turn <- struct{}{}:
	case <-m.gone:
		panic(http.ErrAbortHandler)
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush(w)
	lines := json.NewEncoder(w)
	say := func(v object) {
		_ = lines.Encode(v) // the client may be gone
		flush(w)
	}
	if err := k.ensure(); err != nil {
		<-k.turn
		panic(http.ErrAbortHandler)
	}
	k.executed++
	executed := k.executed
	run, err := k.now.Start(code, 8<<20)
	if err != nil && run == nil {
		<-k.turn
		panic(http.ErrAbortHandler)
	}
	var o *sandbox.Outcome
	done := make(chan struct{})
	m.inside.tasks.Go(func() {
		defer close(done)
		o, err = run.Wait(context.Background())
		<-k.turn
	})
	say(object{"type": "number_of_executions", "execution_count": executed})
	select {
	case <-done:
	case <-m.gone:
		panic(http.ErrAbortHandler)
	case <-r.Context().Done():
		return
	}
	now := time.Now().UTC().Format(time.RFC3339Nano)
	if o.Stdout != "" {
		say(object{"type": "stdout", "text": o.Stdout, "timestamp": now})
	}
	if o.Stderr != "" {
		say(object{"type": "stderr", "text": o.Stderr, "timestamp": now})
	}
	for _, v := range o.Results {
		say(result(v))
	}
	if errors.Is(err, kernel.ErrEnded) {
		say(object{"type": "error", "name": "ContextRestarting", "value": "Context was restarted", "traceback": ""})
	} else if e := o.Error; e != nil {
		say(object{"type": "error", "name": e.Name, "value": e.Value, "traceback": "\x1b[0;31m" + e.Traceback + "\x1b[0m"})
	}
	say(object{"type": "end_of_execution"})
}

// result is a value as the code interpreter writes it. Texts lose their quotes there. In
// place of what the interpreter of this double has left out, there is something long.
func result(v sandbox.Rich) object {
	out := object{"type": "result", "is_main_result": v.Main}
	if len(v.Text) > 1 && strings.HasPrefix(v.Text, "'") && strings.HasSuffix(v.Text, "'") {
		v.Text = v.Text[1 : len(v.Text)-1]
	}
	if v.Cut && v.HTML == "" {
		v.HTML = strings.Repeat("long ", 10_000)
	}
	for name, text := range map[string]string{"text": v.Text, "html": v.HTML, "markdown": v.Markdown, "svg": v.SVG, "latex": v.Latex} {
		if text != "" {
			out[name] = text
		}
	}
	for name, image := range map[string][]byte{"png": v.PNG, "jpeg": v.JPEG} {
		if len(image) > 0 {
			out[name] = image
		}
	}
	return out
}

func rfc3339(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.RFC3339) }
