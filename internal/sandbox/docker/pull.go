package docker

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

const (
	tellEvery = time.Second
	maxLayers = 200 // whose bytes are counted
)

// pull has the engine fetch an image, and tells how far that is.
func (e *engine) pull(ctx context.Context, name string) error {
	ctx, cancel := within(ctx, pullLimit)
	defer cancel()
	doing := "fetch the image " + name
	sandbox.Tell(ctx, sandbox.Progress{Doing: "the container engine fetches the image " + name})
	answer, err := e.ImagePull(ctx, name, client.ImagePullOptions{})
	if err != nil {
		return e.failed(ctx, doing, err)
	}
	err = errors.Join(follow(ctx, name, answer.JSONMessages(ctx)), answer.Close())
	if err != nil && !errors.Is(err, io.EOF) {
		return e.failed(ctx, doing, err)
	}
	return nil
}

// follow reads what the engine says until it has the image. Of that only numbers are
// passed on.
func follow(ctx context.Context, name string, said iter.Seq2[jsonstream.Message, error]) error {
	layers := map[string]jsonstream.Progress{}
	last := time.Now()
	for m, err := range said {
		if err != nil {
			return err
		}
		if m.Error != nil {
			return m.Error
		}
		if m.Status != "Downloading" || m.Progress == nil {
			continue
		}
		if _, known := layers[m.ID]; known || len(layers) < maxLayers {
			layers[m.ID] = *m.Progress
		}
		if time.Since(last) < tellEvery {
			continue
		}
		last = time.Now()
		p := sandbox.Progress{Doing: "the container engine fetches the image " + name}
		for _, l := range layers {
			p.Done += max(0, l.Current)
			p.Total += max(0, l.Total)
		}
		sandbox.Tell(ctx, p)
	}
	return nil
}
