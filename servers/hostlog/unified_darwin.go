package hostlog

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"time"
)

// showUnified starts the program and returns its output, and what waits for its end.
func showUnified(ctx context.Context, program string, args ...string) (io.Reader, func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return out, func() error {
		err := ctx.Err()
		// What was read is enough, or there is no more: the end of the output is the end of the program.
		rest, _ := io.CopyN(io.Discard, out, 1)
		cancel()
		if e := cmd.Wait(); rest == 0 && err == nil && e != nil {
			return errors.New("log show: " + e.Error())
		}
		return nil
	}, nil
}
