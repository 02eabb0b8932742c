package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
)

const (
	maxText = 4 << 20 // bytes that tesseract may say
	maxOCR  = 2 * time.Minute
)

// A Tesseract reads letters on images by the program of that name.
type Tesseract struct {
	Spawner *proc.Spawner
	Path    string
	Env     []string
}

// languages reports whether a text can be languages of tesseract, and no option.
func languages(s string) bool {
	for name := range strings.SplitSeq(s, "+") {
		if len(name) < 2 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
			return false
		}
	}
	return len(s) < 200
}

// Read returns the text of an image. Languages are as tesseract has them, such as
// eng+deu; "" is its usual one.
func (t Tesseract) Read(ctx context.Context, image []byte, wanted string) (string, error) {
	args := []string{"stdin", "stdout", "--psm", "3"}
	if wanted != "" {
		if !languages(wanted) {
			return "", fmt.Errorf("%.60q are no languages of tesseract: write them like eng+deu", wanted)
		}
		args = append(args, "-l", wanted)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxOCR, fmt.Errorf("OCR took longer than %s", maxOCR))
	defer cancel()
	env := append(append([]string{}, t.Env...), "OMP_THREAD_LIMIT=1")
	p, err := t.Spawner.Start(ctx, proc.Command{Path: t.Path, Args: args, Env: env, StdinGrace: -1, TermGrace: -1})
	if err != nil {
		return "", err
	}
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	end() // nothing is worth waiting for: Stop kills
	stop := context.AfterFunc(ctx, func() { _ = p.Stop(over) })
	var feeding sync.WaitGroup
	feeding.Go(func() {
		_, err := p.Stdin().Write(image)
		_ = errors.Join(err, p.Stdin().Close()) // a program that reads no further says why itself
	})
	text, err := io.ReadAll(io.LimitReader(p.Stdout(), maxText))
	if err == nil && len(text) < maxText {
		<-p.Done()
	}
	stop()
	_ = p.Stop(over)
	feeding.Wait()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	case p.Exit() != "exit status 0" && len(text) < maxText:
		return "", fmt.Errorf("tesseract: %s: %s", p.Exit(), strings.TrimSpace(p.Stderr()))
	}
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\f", "")), nil
}
