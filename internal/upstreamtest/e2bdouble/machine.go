package e2bdouble

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"sync"
	"time"
)

//go:embed agent.py
var agent string

// namespaces are those of a machine. All in them ends with the first process.
var namespaces = []string{"-Urmpf", "--mount-proc", "--kill-child"}

// setUp gives a machine a home and a folder for temporary files, and no way to write elsewhere.
const setUp = `mount --make-rprivate / && mount -o remount,bind,ro / ; mount -t tmpfs -o mode=755 h /home && mkdir -m 755 /home/user && mount -t tmpfs -o mode=1777 t /tmp && exec "$@"`

// A machine is one sandbox of E2B.
type machine struct {
	ordered
	agentLine
	inside interpreters

	mu    sync.Mutex
	end   time.Time
	timer *time.Timer
	pids  map[int]running
}

// ordered is what a machine was made with.
type ordered struct {
	id, template, token string
	metadata, envs      map[string]string
	internet            *bool
	began               time.Time
	expire              func()
}

// An agentLine leads to the inside of a machine.
type agentLine struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	reader sync.WaitGroup
	gone   chan struct{}
	ending sync.Once // closes gone
	once   sync.Once // ends all

	asking  sync.Mutex
	last    int
	waiting map[int]*listener
	writing sync.Mutex // of lines
}

// A listener waits for lines with its number.
type listener struct {
	lines chan told
	done  chan struct{}
}

type running struct {
	tag    string
	config object
}

// told is a line of the agent.
type told struct {
	ID     int             `json:"id"`
	Event  string          `json:"event"`
	PID    int             `json:"pid"`
	Stream string          `json:"stream"`
	Data   []byte          `json:"data"`
	Code   int             `json:"code"`
	Text   string          `json:"text"`
	Errno  int             `json:"errno"`
	Answer json.RawMessage `json:"answer"`
}

// order is a line for the agent.
type order struct {
	ID     int               `json:"id"`
	Do     string            `json:"do"`
	Argv   []string          `json:"argv,omitempty"`
	Env    map[string]string `json:"env,omitempty"`
	Cwd    string            `json:"cwd,omitempty"`
	Stdin  bool              `json:"stdin,omitempty"`
	Talks  bool              `json:"talks,omitempty"`
	PID    int               `json:"pid,omitempty"`
	Signal int               `json:"signal,omitempty"`
	Stream string            `json:"stream,omitempty"`
	Data   []byte            `json:"data,omitempty"`
	Close  bool              `json:"close,omitempty"`
	Path   string            `json:"path,omitempty"`
	To     string            `json:"to,omitempty"`
	Depth  int               `json:"depth,omitempty"`
	More   bool              `json:"more,omitempty"`
}

func newMachine() (*machine, error) {
	args := append(append([]string(nil), namespaces...), "/bin/sh", "-c", setUp, "sh", "/usr/bin/python3", "-I", "-S", "-c", agent)
	m := &machine{pids: map[int]running{}}
	m.cmd, m.gone, m.waiting = exec.Command("unshare", args...), make(chan struct{}), map[int]*listener{}
	m.cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C.UTF-8"}
	m.cmd.Dir, m.cmd.Stderr = "/", os.Stderr
	var err error
	if m.input, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	m.reader.Go(func() { m.read(out) })
	return m, nil
}

func (m *agentLine) read(out io.Reader) {
	defer m.leave()
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var t told
		if json.Unmarshal(line, &t) != nil {
			continue
		}
		m.asking.Lock()
		to := m.waiting[t.ID]
		m.asking.Unlock()
		if to != nil {
			select {
			case to.lines <- t:
			case <-to.done:
			case <-m.gone:
				return
			}
		}
	}
}

func (m *agentLine) leave() { m.ending.Do(func() { close(m.gone) }) }

// close ends the machine and all in it.
func (m *machine) close() {
	m.once.Do(func() {
		m.mu.Lock()
		if m.timer != nil {
			m.timer.Stop()
		}
		m.mu.Unlock()
		m.leave()
		_ = m.input.Close()      // its agent ends, and with it the namespaces
		_ = m.cmd.Process.Kill() // the child of it dies too
		m.reader.Wait()
		_ = m.cmd.Wait() // it was killed
		m.inside.close()
	})
}

// prolong sets when the machine ends.
func (m *machine) prolong(seconds int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer != nil {
		m.timer.Stop()
	}
	ttl := time.Duration(seconds) * time.Second
	m.end = time.Now().Add(ttl)
	m.timer = time.AfterFunc(ttl, m.expire)
}

var errGone = errors.New("the machine is gone")

// send gives the agent an order, and returns where its answers come. The caller forgets it.
func (m *agentLine) send(o order) (int, <-chan told, error) {
	m.asking.Lock()
	if o.ID == 0 {
		m.last++
		o.ID = m.last
	}
	l := m.waiting[o.ID]
	if l == nil {
		l = &listener{make(chan told, 16), make(chan struct{})}
		m.waiting[o.ID] = l
	}
	m.asking.Unlock()
	b, err := json.Marshal(o)
	if err != nil {
		return 0, nil, err
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	if _, err := m.input.Write(append(b, '\n')); err != nil {
		return 0, nil, errGone
	}
	return o.ID, l.lines, nil
}

func (m *agentLine) forget(id int) {
	m.asking.Lock()
	defer m.asking.Unlock()
	if l := m.waiting[id]; l != nil {
		close(l.done)
		delete(m.waiting, id)
	}
}

// A fileError is an error of the file system there.
type fileError struct {
	text  string
	errno int
}

func (e *fileError) Error() string { return e.text }

// ask gives an order that has one answer.
func (m *agentLine) ask(o order) (json.RawMessage, error) {
	id, answers, err := m.send(o)
	if err != nil {
		return nil, err
	}
	defer m.forget(id)
	select {
	case t := <-answers:
		if t.Event != "done" {
			return nil, &fileError{t.Text, t.Errno}
		}
		return t.Answer, nil
	case <-m.gone:
		return nil, errGone
	}
}

// input gives a process what it reads.
type input struct {
	m      *machine
	id     int
	stream string
}

// Write implements [io.Writer].
func (i input) Write(b []byte) (int, error) {
	_, _, err := i.m.send(order{ID: i.id, Do: "input", Stream: i.stream, Data: b})
	return len(b), err
}

// Close implements [io.Closer].
func (i input) Close() error {
	_, _, err := i.m.send(order{ID: i.id, Do: "input", Stream: i.stream, Close: true})
	return err
}

// environ is that of a process: what the machine has, and what belongs to it.
func (m *machine) environ(more map[string]string) map[string]string {
	env := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": home, "USER": "user", "LOGNAME": "user"}
	maps.Copy(env, m.envs)
	maps.Copy(env, more)
	return env
}

const home = "/home/user"

// status is how Go tells of the end of a process.
func status(code int) string {
	if code >= 0 {
		return fmt.Sprintf("exit status %d", code)
	}
	names := map[int]string{-2: "interrupt", -9: "killed", -11: "segmentation fault", -13: "broken pipe", -15: "terminated"}
	return "signal: " + names[code]
}
