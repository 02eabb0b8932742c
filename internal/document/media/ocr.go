package media

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
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
	var text []byte
	var readErr error
	p, err := t.Spawner.Filter(ctx, proc.Command{Path: t.Path, Args: args, Env: env}, bytes.NewReader(image), func(p *proc.Process) bool {
		text, readErr = io.ReadAll(io.LimitReader(p.Stdout(), maxText))
		return readErr == nil && len(text) < maxText
	})
	if err != nil {
		return "", err
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case readErr != nil:
		return "", readErr
	case p.Exit() != "exit status 0" && len(text) < maxText:
		return "", fmt.Errorf("tesseract: %s: %s", p.Exit(), strings.TrimSpace(p.Stderr()))
	}
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\f", "")), nil
}
