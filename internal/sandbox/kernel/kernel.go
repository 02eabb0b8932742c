// Package kernel is a Python interpreter that keeps its state: a program for it, and
// the side that talks to it.
//
//	start python3 -c kernel.Source with descriptors 3 (requests) and 4 (answers)
//	s := kernel.NewSession(func(ctx context.Context) (*kernel.Process, error) {…})
//	outcome, err := s.Run(ctx, sandbox.Cell{Source: "x = 1\nx"}, gone)
//
// What the program says is foreign: whatever runs in it may write to its descriptors.
// So everything is bounded, and what cannot be read ends the interpreter.
package kernel

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// Source is the program.
//
//go:embed kernel.py
var Source string

const (
	// MaxSource bounds a cell, and maxAnswer what comes back for one.
	MaxSource = 1 << 20
	maxAnswer = 24 << 20
	// maxKeep bounds the text of what a cell shows, so that an answer has room for it.
	maxKeep = 1 << 20
	// behind is how long an answer waits for what was printed before it.
	behind = time.Second
)

// Pipes lead to a running program.
type Pipes struct {
	Requests                io.WriteCloser
	Answers, Stdout, Stderr io.ReadCloser
}

// A Kernel is a running interpreter.
type Kernel struct {
	p        Pipes
	out, err *stream
	answers  chan answer
	ended    chan struct{}
	tasks    sync.WaitGroup
	once     sync.Once
}

type answer struct {
	Results []sandbox.Rich     `json:"results"`
	Error   *sandbox.Exception `json:"error"`
	Took    float64            `json:"took"`
	Missed  int                `json:"missed"`
}

// ErrEnded says that the interpreter has ended while the cell ran.
var ErrEnded = errors.New("the interpreter has ended")

// New returns the side that talks. Close it.
func New(p Pipes) *Kernel {
	k := &Kernel{
		p: p, out: &stream{}, err: &stream{},
		answers: make(chan answer, 1), ended: make(chan struct{}),
	}
	k.tasks.Go(func() { k.out.pump(p.Stdout) })
	k.tasks.Go(func() { k.err.pump(p.Stderr) })
	k.tasks.Go(k.read)
	return k
}

// Ended is closed when the interpreter answers no more.
func (k *Kernel) Ended() <-chan struct{} { return k.ended }

// Close closes the pipes and waits for who reads them.
func (k *Kernel) Close() {
	k.once.Do(func() {
		_ = k.p.Requests.Close()
		_ = k.p.Answers.Close()
		_ = k.p.Stdout.Close()
		_ = k.p.Stderr.Close()
	})
	k.tasks.Wait()
}

func (k *Kernel) read() {
	defer close(k.ended)
	for {
		var head [4]byte
		if _, err := io.ReadFull(k.p.Answers, head[:]); err != nil {
			return
		}
		n := binary.BigEndian.Uint32(head[:])
		if n > maxAnswer {
			return
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(k.p.Answers, body); err != nil {
			return
		}
		var a answer
		if json.Unmarshal(body, &a) != nil {
			return
		}
		select {
		case k.answers <- a:
		default:
			return // nobody has asked
		}
	}
}

// A Run is a cell that was sent.
type Run struct {
	k        *Kernel
	out, err *part
}

// Start sends a cell. The one before has been waited for.
func (k *Kernel) Start(source string, keep int) (*Run, error) {
	mark := "\x00" + rand.Text() + "\x00"
	if keep <= 0 {
		keep = sandbox.DefaultKeep
	}
	body, err := json.Marshal(map[string]any{"code": source, "mark": mark, "keep": min(keep, maxKeep)})
	if err != nil {
		return nil, err
	}
	r := &Run{k: k, out: k.out.begin(mark, keep), err: k.err.begin(mark, keep)}
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	if _, err := k.p.Requests.Write(append(frame, body...)); err != nil {
		return r, fmt.Errorf("%w: %w", ErrEnded, err)
	}
	return r, nil
}

// Wait waits for the answer, or until ctx or the interpreter ends: then the outcome
// holds what was printed until then.
func (r *Run) Wait(ctx context.Context) (*sandbox.Outcome, error) {
	var a answer
	var err error
	select {
	case a = <-r.k.answers:
		late := time.NewTimer(behind)
		defer late.Stop()
		for _, p := range []*part{r.out, r.err} {
			select {
			case <-p.done:
			case <-late.C:
			case <-r.k.ended:
			}
		}
	case <-r.k.ended:
		err = ErrEnded
		select {
		case a = <-r.k.answers: // its last word
			err = nil
		default:
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	o := &sandbox.Outcome{Results: a.Results, Missed: a.Missed, Error: a.Error, Took: time.Duration(a.Took * float64(time.Second))}
	var left int64
	o.Stdout, o.Left = r.out.clip.Text()
	o.Stderr, left = r.err.clip.Text()
	o.Left += left
	return o, err
}

// A stream is what the interpreter prints, cut at the marks.
type stream struct {
	mu   sync.Mutex
	now  *part
	rest []byte // what may be the beginning of a mark
}

// A part is what belongs to one cell.
type part struct {
	mark []byte
	clip *sandbox.Clip
	done chan struct{}
}

// begin opens the part of a cell. What was printed since the one before belongs to it.
func (s *stream) begin(mark string, keep int) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &part{mark: []byte(mark), clip: sandbox.NewClip(keep), done: make(chan struct{})}
	if s.now != nil && s.now.mark == nil {
		p.clip = s.now.clip
		p.clip.Resize(keep)
	}
	s.now = p
	return p
}

func (s *stream) pump(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		s.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (s *stream) add(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		s.now = &part{clip: sandbox.NewClip(0)}
	}
	s.rest = append(s.rest, b...)
	if s.now.mark != nil {
		before, after, found := bytes.Cut(s.rest, s.now.mark)
		if !found {
			// The mark begins with a zero byte: what is before the last one can go.
			if i := bytes.LastIndexByte(s.rest, 0); i >= 0 && len(s.rest)-i < len(s.now.mark) {
				_, _ = s.now.clip.Write(s.rest[:i])
				s.rest = append(s.rest[:0], s.rest[i:]...)
				return
			}
			_, _ = s.now.clip.Write(s.rest)
			s.rest = s.rest[:0]
			return
		}
		_, _ = s.now.clip.Write(before)
		close(s.now.done)
		s.now = &part{clip: sandbox.NewClip(0)}
		s.rest = append([]byte(nil), after...)
	}
	_, _ = s.now.clip.Write(s.rest)
	s.rest = s.rest[:0]
}
