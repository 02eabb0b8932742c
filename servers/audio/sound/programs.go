package sound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
)

// Programs are those that help; an empty one is not there.
type Programs struct {
	FFmpeg, FFprobe string
	Sphinx          string // pocketsphinx_continuous
	Env             []string
}

// A Bench is a folder for the files of one call, and what runs on them.
type Bench struct {
	Programs
	dir     string
	spawner *proc.Spawner
}

// Open returns a Bench.
func (p Programs) Open() (*Bench, error) {
	dir, err := os.MkdirTemp("", "tenon-sound-")
	if err != nil {
		return nil, fmt.Errorf("there is no room for files on this machine: %w", err)
	}
	return &Bench{Programs: p, dir: dir, spawner: proc.New(proc.Options{})}, nil
}

// Close ends what runs and removes the files.
func (b *Bench) Close() error { return errors.Join(b.spawner.Close(), os.RemoveAll(b.dir)) }

// write puts a file into the folder. Its name is ours, whatever the model has called it.
func (b *Bench) write(name string, data []byte) (string, error) {
	path := filepath.Join(b.dir, name)
	return path, os.WriteFile(path, data, 0o600)
}

// A running program's output.
type running struct {
	p    *proc.Process
	stop func() bool
	over func() error // why the call has ended, if it has
	name string
}

// start starts a program that sees its folder and nothing else, where that can be had.
func (b *Bench) start(ctx context.Context, path string, args ...string) (*running, error) {
	c := proc.Command{Path: path, Args: args, Env: b.Env, Dir: b.dir, StdinGrace: -1, TermGrace: -1}
	confined := c
	confined.Confine = &proc.Confinement{Read: []string{b.dir, "/usr/share/pocketsphinx"}}
	p, err := b.spawner.Start(ctx, confined)
	if err != nil { // this system confines nothing, or the program cannot be started at all
		if p, err = b.spawner.Start(ctx, c); err != nil {
			return nil, fmt.Errorf("%s cannot be started: %w", filepath.Base(path), err)
		}
	}
	r := &running{p: p, over: func() error { return context.Cause(ctx) }, name: filepath.Base(path)}
	r.stop = context.AfterFunc(ctx, func() { _ = p.Kill() })
	_ = p.Stdin().Close() // none of them reads
	return r, nil
}

// Read implements [io.Reader]. At the end it tells how the program ended.
func (r *running) Read(p []byte) (int, error) {
	n, err := r.p.Stdout().Read(p)
	if err == nil {
		return n, nil
	}
	if over := r.over(); over != nil {
		return n, over
	}
	<-r.p.Done()
	if exit := r.p.Exit(); exit != "exit status 0" {
		return n, fmt.Errorf("%s cannot read the file (%s): %s", r.name, exit, said(r.p.Stderr()))
	}
	return n, err
}

// said returns the last line of what a program has said.
func said(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	last := []rune(strings.TrimSpace(lines[len(lines)-1]))
	return string(last[:min(len(last), 200)])
}

// Close implements [io.Closer].
func (r *running) Close() error {
	r.stop()
	return r.p.Kill()
}

// Decode returns the PCM of a sound of any format, of its first so many seconds.
func (b *Bench) Decode(ctx context.Context, data []byte, f Format, most time.Duration) (io.ReadCloser, error) {
	if b.FFmpeg == "" {
		return nil, errors.New("ffmpeg is not installed")
	}
	path, err := b.write("input", data)
	if err != nil {
		return nil, err
	}
	return b.start(ctx, b.FFmpeg, "-nostdin", "-hide_banner", "-loglevel", "error", "-protocol_whitelist", "file,pipe", "-threads", "1",
		"-f", f.Demuxer, "-i", "file:"+path, "-map", "0:a:0", "-vn", "-sn", "-dn", "-t", strconv.Itoa(int(most.Seconds())),
		"-ac", "1", "-ar", strconv.Itoa(Rate), "-f", "s16le", "pipe:1")
}

// Probe returns how long a sound lasts, and 0 where that is not known.
func (b *Bench) Probe(ctx context.Context, data []byte, f Format) time.Duration {
	if b.FFprobe == "" {
		return 0
	}
	path, err := b.write("probed", data)
	if err != nil {
		return 0
	}
	r, err := b.start(ctx, b.FFprobe, "-hide_banner", "-loglevel", "error", "-protocol_whitelist", "file,pipe",
		"-f", f.Demuxer, "-show_entries", "format=duration", "-of", "default=noprint_wrappers=1:nokey=1", "-i", "file:"+path)
	if err != nil {
		return 0
	}
	defer func() { _ = r.Close() }()
	out, err := io.ReadAll(io.LimitReader(r, 1000))
	if err != nil {
		return 0
	}
	s, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil || !(s > 0 && s < 1e7) {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// Hear returns the words in PCM by pocketsphinx.
func (b *Bench) Hear(ctx context.Context, pcm []byte) (string, error) {
	if b.Sphinx == "" {
		return "", errors.New("pocketsphinx is not installed")
	}
	path, err := b.write("speech.wav", WAV(pcm))
	if err != nil {
		return "", err
	}
	r, err := b.start(ctx, b.Sphinx, "-infile", path, "-logfn", os.DevNull)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	out, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return "", err
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}
