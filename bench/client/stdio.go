package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// stdioConn is a server that is a child process, one message a line.
type stdioConn struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	kill context.CancelFunc
}

var _ connection = (*stdioConn)(nil)

// StartStdio starts a server and begins a session with it over its stdin and
// stdout. The end of the context kills the server.
func StartStdio(ctx context.Context, command []string) (*Session, error) {
	ctx, kill := context.WithCancel(ctx)
	c := &stdioConn{cmd: exec.CommandContext(ctx, command[0], command[1:]...), kill: kill}
	c.cmd.WaitDelay = goodbye
	var out io.Reader
	err := func() (err error) {
		if c.in, err = c.cmd.StdinPipe(); err != nil {
			return err
		}
		if out, err = c.cmd.StdoutPipe(); err != nil {
			return err
		}
		return c.cmd.Start()
	}()
	if err != nil {
		kill()
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	c.out = bufio.NewReaderSize(out, bufferSize)
	return open(c)
}

func (c *stdioConn) frame(msg []byte) ([]byte, int) { return append(msg, '\n'), 0 }

func (c *stdioConn) exchange(framed, match []byte, keep int, a *Answer) error {
	if err := c.send(framed); err != nil {
		return err
	}
	for {
		a.reset()
		for {
			part, err := c.out.ReadSlice('\n')
			a.write(part, keep)
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return broken(atEnd(err))
			}
		}
		if a.Holds(match) {
			return nil
		}
	}
}

func (c *stdioConn) send(framed []byte) error {
	if _, err := c.in.Write(framed); err != nil {
		return broken(err)
	}
	return nil
}

func (c *stdioConn) agreed(string) {}

func (c *stdioConn) setDeadline(time.Time) error { return nil }

// close ends the server by the end of its input, and kills it where it does
// not take the hint.
func (c *stdioConn) close() error {
	defer c.kill()
	err := c.in.Close()
	late := time.AfterFunc(goodbye, c.kill)
	defer late.Stop()
	return errors.Join(err, c.cmd.Wait())
}
