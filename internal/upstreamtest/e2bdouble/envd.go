package e2bdouble

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// message is one of any type that is described.
type message = dynamicpb.Message

// A daemon is envd, of all machines.
type daemon struct{ *Double }

// envd serves the daemon of all machines.
func (d daemon) envd() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /files", d.readFile)
	mux.HandleFunc("POST /files", d.writeFile)
	d.stream(mux, "/process.Process/Start", d.start)
	d.unary(mux, "/process.Process/SendSignal", (*machine).signal)
	d.unary(mux, "/process.Process/List", (*machine).processes)
	d.unary(mux, "/filesystem.Filesystem/Stat", fileOrder("stat"))
	d.unary(mux, "/filesystem.Filesystem/ListDir", fileOrder("list"))
	d.unary(mux, "/filesystem.Filesystem/MakeDir", fileOrder("mkdir"))
	d.unary(mux, "/filesystem.Filesystem/Move", fileOrder("move"))
	d.unary(mux, "/filesystem.Filesystem/Remove", fileOrder("remove"))
	return mux
}

func (d daemon) machineOf(h http.Header) *machine {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.machines[h.Get("E2b-Sandbox-Id")]
}

// options are those of a procedure.
func (d daemon) options(procedure string) []connect.HandlerOption {
	desc := d.spec.methods[procedure]
	return []connect.HandlerOption{
		connect.WithCodec(strict{}), connect.WithSchema(desc),
		connect.WithRequestInitializer(func(spec connect.Spec, v any) error {
			m, ok := v.(*message)
			method, described := spec.Schema.(protoreflect.MethodDescriptor)
			if !ok || !described {
				return errors.New("no message")
			}
			*m = *dynamicpb.NewMessage(method.Input())
			return nil
		}),
	}
}

// checked reports a mistake in what the client sent: it does not fit the description.
func (d daemon) checked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _, ok := r.BasicAuth()
		if ok && user != "user" && user != "root" {
			reply(w, http.StatusUnauthorized, object{"code": "unauthenticated", "message": "invalid username: '" + user + "'"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (d daemon) unary(mux *http.ServeMux, procedure string, do func(*machine, []byte) (object, error)) {
	mux.Handle(procedure, d.checked(connect.NewUnaryHandler(procedure, func(_ context.Context, r *connect.Request[message]) (*connect.Response[message], error) {
		m := d.machineOf(r.Header())
		if m == nil {
			return nil, connect.NewError(connect.CodeUnavailable, errGone)
		}
		b, err := strict{}.Marshal(r.Msg)
		if err != nil {
			return nil, err
		}
		out, err := do(m, b)
		if err != nil {
			return nil, err
		}
		answer, err := asMessage(d.spec.methods[procedure].Output(), out)
		if err != nil {
			d.tb.Errorf("%s: an answer is not as described: %v", procedure, err)
			return nil, err
		}
		return connect.NewResponse(answer), nil
	}, d.options(procedure)...)))
}

func (d daemon) stream(mux *http.ServeMux, procedure string, do func(context.Context, *machine, []byte, func(object) error) error) {
	mux.Handle(procedure, d.checked(connect.NewServerStreamHandler(procedure, func(ctx context.Context, r *connect.Request[message], s *connect.ServerStream[message]) error {
		m := d.machineOf(r.Header())
		if m == nil {
			return connect.NewError(connect.CodeUnavailable, errGone)
		}
		b, err := strict{}.Marshal(r.Msg)
		if err != nil {
			return err
		}
		return do(ctx, m, b, func(v object) error {
			answer, err := asMessage(d.spec.methods[procedure].Output(), v)
			if err != nil {
				d.tb.Errorf("%s: an answer is not as described: %v", procedure, err)
				return err
			}
			return s.Send(answer)
		})
	}, d.options(procedure)...)))
}

// start runs a process and tells of it until its end. It goes on where nobody listens.
func (d daemon) start(ctx context.Context, m *machine, b []byte, send func(object) error) error {
	var in struct {
		Process struct {
			Cmd  string            `json:"cmd"`
			Args []string          `json:"args"`
			Envs map[string]string `json:"envs"`
			Cwd  string            `json:"cwd"`
		} `json:"process"`
		Tag   string `json:"tag"`
		Stdin *bool  `json:"stdin"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	cwd := path.Join(home, in.Process.Cwd)
	if path.IsAbs(in.Process.Cwd) {
		cwd = in.Process.Cwd
	}
	id, lines, err := m.send(order{
		Do: "start", Argv: append([]string{in.Process.Cmd}, in.Process.Args...), Env: m.environ(in.Process.Envs), Cwd: cwd,
		Stdin: in.Stdin == nil || *in.Stdin,
	})
	if err != nil {
		return connect.NewError(connect.CodeUnavailable, err)
	}
	defer m.forget(id) // what it says then is for nobody
	pid := 0
	deaf := false
	for {
		var t told
		select {
		case t = <-lines:
		case <-m.gone:
			return connect.NewError(connect.CodeUnavailable, errGone)
		case <-d.ended:
			return connect.NewError(connect.CodeCanceled, errGone)
		}
		var event object
		switch t.Event {
		case "failed":
			return connect.NewError(connect.CodeInvalidArgument, errors.New("error starting process: "+t.Text))
		case "start":
			pid = t.PID
			m.mu.Lock()
			m.pids[pid] = running{in.Tag, object{"cmd": in.Process.Cmd, "args": in.Process.Args}}
			m.mu.Unlock()
			event = object{"start": object{"pid": pid}}
		case "data":
			event = object{"data": object{t.Stream: base64.StdEncoding.EncodeToString(t.Data)}}
		case "end":
			m.mu.Lock()
			delete(m.pids, pid)
			m.mu.Unlock()
			end := object{"exitCode": t.Code, "exited": t.Code >= 0, "status": status(t.Code)}
			if t.Code < 0 {
				end["exitCode"] = -1
			}
			if t.Code != 0 {
				end["error"] = status(t.Code)
			}
			event = object{"end": end}
		}
		if !deaf && (ctx.Err() != nil || send(object{"event": event}) != nil) {
			deaf = true
		}
		if t.Event == "end" {
			return nil
		}
	}
}

var signals = map[string]int{"SIGNAL_SIGTERM": 15, "SIGNAL_SIGKILL": 9}

// signal signals one process, and none of those that it has started: as envd does.
func (m *machine) signal(b []byte) (object, error) {
	var in struct {
		Process struct {
			PID int    `json:"pid"`
			Tag string `json:"tag"`
		} `json:"process"`
		Signal string `json:"signal"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, err
	}
	if signals[in.Signal] == 0 {
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("invalid signal: "+in.Signal))
	}
	m.mu.Lock()
	pid := 0
	for p, r := range m.pids {
		if p == in.Process.PID || in.Process.Tag != "" && r.tag == in.Process.Tag {
			pid = p
		}
	}
	m.mu.Unlock()
	if pid == 0 {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("process not found"))
	}
	_, _, err := m.send(order{Do: "signal", PID: pid, Signal: signals[in.Signal]})
	return object{}, err
}

func (m *machine) processes([]byte) (object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := []object{}
	for pid, r := range m.pids {
		v := object{"pid": pid, "config": r.config}
		if r.tag != "" {
			v["tag"] = r.tag
		}
		all = append(all, v)
	}
	return object{"processes": all}, nil
}

// fileOrder is a procedure that the agent carries out.
func fileOrder(do string) func(*machine, []byte) (object, error) {
	return func(m *machine, b []byte) (object, error) {
		var in struct {
			Path   string `json:"path"`
			Depth  int    `json:"depth"`
			Source string `json:"source"`
			To     string `json:"destination"`
		}
		if err := json.Unmarshal(b, &in); err != nil {
			return nil, err
		}
		answer, err := m.ask(order{Do: do, Path: orElse(in.Path, in.Source), To: in.To, Depth: in.Depth})
		if err != nil {
			return nil, rpcError(err)
		}
		var out object
		if err := json.Unmarshal(answer, &out); err != nil {
			return nil, err
		}
		return timed(out), nil
	}
}

// timed writes times as the JSON of protobuf has them.
func timed(v object) object {
	entries, _ := v["entries"].([]any)
	for _, e := range append(entries, v["entry"]) {
		if e, ok := e.(object); ok {
			if at, ok := e["modifiedTime"].(object); ok {
				seconds, _ := at["seconds"].(float64)
				e["modifiedTime"] = rfc3339(int64(seconds))
			}
		}
	}
	return v
}

// Numbers of errors.
const (
	noEntry   = 2
	exists    = 17
	noFolder  = 20
	isFolder  = 21
	fullDisk  = 28
	nameLimit = 36
)

func rpcError(err error) error {
	f, ok := errors.AsType[*fileError](err)
	if !ok {
		return connect.NewError(connect.CodeUnavailable, err)
	}
	code := connect.CodeInternal
	switch f.errno {
	case noEntry:
		code = connect.CodeNotFound
	case exists:
		code = connect.CodeAlreadyExists
	case noFolder:
		code = connect.CodeInvalidArgument
	}
	return connect.NewError(code, f)
}

func (d daemon) fileFailed(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	if f, ok := errors.AsType[*fileError](err); ok {
		switch f.errno {
		case noEntry:
			code = http.StatusNotFound
		case isFolder, noFolder, nameLimit:
			code = http.StatusBadRequest
		case fullDisk:
			code = http.StatusInsufficientStorage
		}
	}
	reply(w, code, object{"code": code, "message": err.Error()})
}

func (d daemon) readFile(w http.ResponseWriter, r *http.Request) {
	m := d.machineOf(r.Header)
	if m == nil { // it has gone since the request came
		d.fileFailed(w, errGone)
		return
	}
	answer, err := m.ask(order{Do: "read", Path: r.URL.Query().Get("path")})
	var out struct {
		Data []byte `json:"data"`
	}
	if err == nil {
		err = json.Unmarshal(answer, &out)
	}
	if err != nil {
		d.fileFailed(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(out.Data) // the client may be gone
}

// writeFile takes parts of a form, or a body that is the file.
func (d daemon) writeFile(w http.ResponseWriter, r *http.Request) {
	m := d.machineOf(r.Header)
	if m == nil { // it has gone since the request came
		d.fileFailed(w, errGone)
		return
	}
	name := r.URL.Query().Get("path")
	names, err := []string{name}, error(nil)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/octet-stream") {
		err = m.write(name, r.Body)
	} else {
		names, err = m.writeForm(name, r)
	}
	if err != nil {
		d.fileFailed(w, err)
		return
	}
	made := []object{}
	for _, n := range names {
		made = append(made, object{"path": path.Join(home, n), "name": path.Base(n), "type": "file"})
	}
	reply(w, http.StatusOK, made)
}

// writeForm writes the files of a form, to a path or to where they are named.
func (m *machine) writeForm(name string, r *http.Request) (names []string, err error) {
	form, err := r.MultipartReader()
	if err != nil {
		return nil, &fileError{err.Error(), isFolder}
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		if part.FormName() != "file" {
			continue
		}
		to := orElse(name, part.FileName())
		if err := m.write(to, part); err != nil {
			return nil, err
		}
		names = append(names, to)
	}
}

// write writes a file as it comes.
func (m *machine) write(name string, from io.Reader) error {
	buf := make([]byte, 256<<10)
	for more := false; ; more = true {
		n, err := io.ReadFull(from, buf)
		if n > 0 || !more {
			if _, err := m.ask(order{Do: "write", Path: name, Data: buf[:n], More: more}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && whole(from) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// whole reports whether a reader has ended as it should.
func whole(r io.Reader) bool {
	_, err := r.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}
