package sound

import (
	"context"
	"io"
)

// Run runs a program on a file of the bench's folder, as ffmpeg is run.
func (b *Bench) Run(ctx context.Context, program string, content string, args ...string) (string, error) {
	path, err := b.write("file", []byte(content))
	if err != nil {
		return "", err
	}
	r, err := b.start(ctx, program, append(args, path)...)
	if err != nil {
		return "", err
	}
	out, err := io.ReadAll(r)
	_ = r.Close()
	return string(out), err
}
