// Package query runs queries in the language jq, each in a process of its own.
//
// The language can make much of little, and some of its functions cannot be
// interrupted: `"x" * 1000000000`, or a match of an expression with a long text.
// So a query is run by a child, which can be ended at any time, and which ends
// itself when its heap grows too large:
//
//	q := query.Runner{Spawner: spawner, Command: []string{"tenon", "jq"}}
//	err := q.Run(ctx, ".items[].name", body, func(value []byte) bool { … })
//
// The child calls Serve. A Runner without a Command runs queries where it is, for
// programs that cannot start themselves: its bounds are then no stronger than the
// functions of the language allow.
//
// The errors of Run are a *tool.Error that says what to do: of kind Invalid for a
// query that is wrong or needs too much memory, Timeout for one that takes too
// long; or the cause of ctx.
package query

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/itchyny/gojq"

	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/tool"
)

// Bounds on one query.
const (
	maxTime   = 5 * time.Second
	maxMemory = 512 << 20 // growth of the heap in bytes
	// maxResident is what a child may have in memory, which this process looks at: while
	// a function of the language only copies, and the child collects its garbage, nothing
	// in the child has its turn. Heap, garbage and the program fit in it.
	maxResident = 1200 << 20
	maxOutput   = 64 << 20 // of one value
)

// What a child says by its exit status; 0 is that all values were given.
const (
	exitWrong  = 1 // standard error says why
	exitMemory = 3
)

// A Runner runs queries. It is safe for concurrent use.
type Runner struct {
	Spawner *proc.Spawner
	Command []string // of a child that calls Serve; empty runs queries in this process
	Env     []string // of the child
}

// Check returns what is wrong with a query before it is run, or nil.
func Check(text string) error {
	_, err := compile(text)
	return err
}

func compile(text string) (*gojq.Code, error) {
	parsed, err := gojq.Parse(text)
	if err != nil {
		return nil, invalid("jq is no query: %v", err)
	}
	// Without a module loader, an environment and inputs, there are none.
	code, err := gojq.Compile(parsed)
	if err != nil {
		return nil, invalid("jq is no query: %v", err)
	}
	return code, nil
}

func invalid(format string, args ...any) error {
	return &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf(format, args...)}
}

var (
	errMemory = &tool.Error{Kind: tool.Invalid, Text: "The query needs too much memory. Ask for less: select and limit early."}
	errTime   = &tool.Error{Kind: tool.Timeout, Text: fmt.Sprintf("The query took longer than %s. Ask for less: select and limit early.", maxTime)}
)

// Run runs a query on a body of JSON and calls yield with each value of its
// output as JSON, until that returns false. It returns within a moment after ctx
// has ended.
func (r Runner) Run(ctx context.Context, text string, body io.Reader, yield func([]byte) bool) error {
	if err := Check(text); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errTime)
	defer cancel()
	if len(r.Command) == 0 {
		ctx, watched := watchMemory(ctx)
		defer watched()
		err := run(ctx, text, body, func(v []byte) error {
			if !yield(v) {
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return r.child(ctx, text, body, yield)
}

var errEnough = errors.New("enough")

// child runs a query in a process of its own.
func (r Runner) child(ctx context.Context, text string, body io.Reader, yield func([]byte) bool) error {
	head, _ := json.Marshal(text) // a string always marshals
	in := io.MultiReader(bytes.NewReader(append(head, '\n')), body)
	var enough, large bool
	var readErr error
	p, err := r.Spawner.Filter(ctx, proc.Command{Path: r.Command[0], Args: r.Command[1:], Env: r.Env}, in, func(p *proc.Process) bool {
		ctx, unwatch := context.WithCancel(ctx)
		var watch sync.WaitGroup
		watch.Go(func() {
			if large = outgrown(ctx, p.Pid()); large {
				_ = p.Kill()
			}
		})
		enough, readErr = readValues(p.Stdout(), yield)
		unwatch()
		watch.Wait()
		return !enough && readErr == nil
	})
	if err != nil {
		return fmt.Errorf("run a query: %w", err)
	}
	switch exit := p.Exit(); {
	case large:
		return errMemory
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case enough:
		return nil
	case errors.Is(readErr, errMemory): // then the child was killed, and its exit says that alone
		return errMemory
	case exit == fmt.Sprintf("exit status %d", exitMemory):
		return errMemory
	case exit == fmt.Sprintf("exit status %d", exitWrong):
		return invalid("%s", bytes.TrimSpace([]byte(p.Stderr())))
	case exit != "exit status 0":
		return fmt.Errorf("run a query: %s: %s", exit, p.Stderr())
	}
	return readErr
}

// outgrown waits until a child has more in memory than maxResident, or ctx has ended.
func outgrown(ctx context.Context, pid int) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		n, known := resident(pid)
		if !known {
			return false // elsewhere the child's own bound has to do
		}
		if n > maxResident {
			return true
		}
	}
}

// readValues calls yield with each line. It reports whether that had enough.
func readValues(out io.Reader, yield func([]byte) bool) (enough bool, err error) {
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 0, 64<<10), maxOutput)
	for lines.Scan() {
		if !yield(bytes.Clone(lines.Bytes())) {
			return true, nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return false, errMemory
	}
	return false, lines.Err()
}

// run runs a query here.
func run(ctx context.Context, text string, body io.Reader, yield func([]byte) error) error {
	code, err := compile(text)
	if err != nil {
		return err
	}
	d := json.NewDecoder(body)
	d.UseNumber() // numbers stay as they are written
	var v any
	if err := d.Decode(&v); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	results := code.RunWithContext(ctx, v)
	for {
		v, ok := results.Next()
		if !ok {
			return nil
		}
		if err, failed := v.(error); failed {
			if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
				return nil // it just halted
			}
			return invalid("jq: %s", clipped(err.Error()))
		}
		text, err := gojq.Marshal(v)
		if err != nil {
			return invalid("the output of jq is no JSON: %v", err)
		}
		if err := yield(text); err != nil {
			return err
		}
	}
}

// clipped keeps short what an error quotes of a value.
func clipped(s string) string {
	const most = 500
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Serve is the child: it reads a query as a JSON string on a line of its own and
// the body behind it, writes each value on a line, and returns its exit status.
// What is wrong it writes to stderr. Where its heap grows too large it calls exit,
// which must end the process.
func Serve(ctx context.Context, in io.Reader, out, stderr io.Writer, exit func(status int)) int {
	// Who watches must have its turn while a function of the language does nothing
	// but copy, which the scheduler cannot interrupt: not with one processor.
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	var watching sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	watching.Go(func() {
		if grown(ctx) {
			exit(exitMemory)
		}
	})
	defer watching.Wait()
	defer cancel()
	r := bufio.NewReaderSize(in, 64<<10)
	head, err := r.ReadBytes('\n')
	var text string
	if err == nil {
		err = json.Unmarshal(head, &text)
	}
	if err != nil {
		fmt.Fprintln(stderr, "this reads a query, as a JSON string, and a body on its standard input")
		return exitWrong
	}
	w := bufio.NewWriter(out)
	err = run(ctx, text, r, func(v []byte) error {
		_, err := w.Write(append(v, '\n'))
		return errors.Join(err, w.Flush()) // who reads may have enough after any
	})
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitWrong
	}
	return 0
}

// watchMemory returns a context that ends when the heap has grown too large, and
// the function that stops watching.
func watchMemory(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if grown(ctx) {
			cancel(errMemory)
		}
	})
	return ctx, func() { cancel(nil); wg.Wait() }
}

// grown waits until the heap has grown by more than maxMemory, or ctx has ended.
func grown(ctx context.Context) bool {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	most := sample[0].Value.Uint64() + maxMemory
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if metrics.Read(sample); sample[0].Value.Uint64() > most {
			return true
		}
	}
}
