package a2a

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	protocol "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

// run is one piece of work.
type run struct {
	client  *a2aclient.Client
	tell    func(string)
	pause   time.Duration
	task    protocol.Task
	message *protocol.Message // the answer of an agent that makes no tasks
	events  int
	parts   int                         // of artifacts, as they came
	at      map[protocol.ArtifactID]int // where the artifacts are
	tooMuch error                       // the agent says more than anybody reads
}

// Bounds of what one piece of work may have.
const (
	maxEvents = 100_000
	maxParts  = 10_000 // of artifacts
)

// done reports whether there is nothing to wait for.
func (r *run) done() bool {
	s := r.task.Status.State
	return r.message != nil || s.Terminal() || s == protocol.TaskStateInputRequired || s == protocol.TaskStateAuthRequired
}

// stream takes events until there is nothing to wait for, or the stream ends.
func (r *run) stream(events iter.Seq2[protocol.Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		r.events++
		r.take(e)
		if r.bound(); r.tooMuch != nil {
			return r.tooMuch
		}
		if r.done() {
			return nil
		}
	}
	return nil
}

// take takes one event.
func (r *run) take(e protocol.Event) {
	switch e := e.(type) {
	case *protocol.Message:
		r.message = e
	case *protocol.Task:
		r.know(e)
	case *protocol.TaskStatusUpdateEvent:
		r.task.ID, r.task.ContextID, r.task.Status = e.TaskID, e.ContextID, e.Status
		if e.Status.Message != nil && !r.done() {
			r.say(textOf(e.Status.Message.Parts))
		}
	case *protocol.TaskArtifactUpdateEvent:
		r.task.ID, r.task.ContextID = e.TaskID, e.ContextID
		r.artifact(e)
	}
}

func (r *run) say(text string) {
	const most = 500
	if r.tell == nil || text == "" {
		return
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	r.tell(text)
}

// artifact takes a part of what the agent makes.
func (r *run) artifact(e *protocol.TaskArtifactUpdateEvent) {
	if e.Artifact == nil {
		return
	}
	if r.at == nil {
		r.at = map[protocol.ArtifactID]int{}
	}
	r.parts += len(e.Artifact.Parts) + 1
	at, known := r.at[e.Artifact.ID]
	switch {
	case !known:
		r.at[e.Artifact.ID] = len(r.task.Artifacts)
		r.task.Artifacts = append(r.task.Artifacts, e.Artifact)
	case e.Append:
		r.task.Artifacts[at].Parts = append(r.task.Artifacts[at].Parts, e.Artifact.Parts...)
	default:
		r.task.Artifacts[at] = e.Artifact
	}
}

// know takes a task as the agent has it as a whole.
func (r *run) know(t *protocol.Task) {
	r.task, r.parts, r.at = *t, 0, map[protocol.ArtifactID]int{}
	for i, a := range t.Artifacts {
		if a != nil {
			r.parts += len(a.Parts) + 1
			r.at[a.ID] = i
		}
	}
}

// bound ends the work where the agent says too much.
func (r *run) bound() {
	if r.events > maxEvents || r.parts > maxParts {
		r.tooMuch = fmt.Errorf("the agent says too much (%d events and %d parts of artifacts; at most %d and %d are read), so its task was canceled", r.events, r.parts, maxEvents, maxParts)
	}
}

// finish waits for the end of a task whose stream has ended: by another stream, where the
// agent has them, and by asking from time to time. What was missed meanwhile is in the
// task as it is asked for.
func (r *run) finish(ctx context.Context) error {
	streams := true
	for breaks := 0; !r.done(); {
		if r.task.ID == "" {
			return ErrLost
		}
		task, err := r.client.GetTask(ctx, &protocol.GetTaskRequest{ID: r.task.ID})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, protocol.ErrTaskNotFound):
			return fmt.Errorf("the agent knows nothing any more of its task %s", r.task.ID)
		case err != nil:
			if breaks++; breaks >= maxBreaks {
				return fmt.Errorf("the agent was not reached %d times, and may still work on its task %s: %w", breaks, r.task.ID, err)
			}
		default:
			if task.Status.State != r.task.Status.State && task.Status.Message != nil {
				r.say(textOf(task.Status.Message.Parts))
			}
			r.know(task)
			breaks = 0
		}
		if r.bound(); r.tooMuch != nil {
			return r.tooMuch
		}
		if r.done() {
			return nil
		}
		if streams && err == nil {
			before := r.events
			_ = r.stream(r.client.SubscribeToTask(ctx, &protocol.SubscribeToTaskRequest{ID: r.task.ID})) // it is asked for again
			if streams = r.events > before; r.done() || r.tooMuch != nil {
				return r.tooMuch
			}
		}
		timer := time.NewTimer(r.pause << min(breaks, 3))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
	return nil
}
