package a2a

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
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
}

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
		r.task = *e
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
	at := slices.IndexFunc(r.task.Artifacts, func(a *protocol.Artifact) bool { return a.ID == e.Artifact.ID })
	switch {
	case at < 0:
		r.task.Artifacts = append(r.task.Artifacts, e.Artifact)
	case e.Append:
		r.task.Artifacts[at].Parts = append(r.task.Artifacts[at].Parts, e.Artifact.Parts...)
	default:
		r.task.Artifacts[at] = e.Artifact
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
			r.task, breaks = *task, 0
		}
		if r.done() {
			return nil
		}
		if streams && err == nil {
			before := r.events
			_ = r.stream(r.client.SubscribeToTask(ctx, &protocol.SubscribeToTaskRequest{ID: r.task.ID})) // it is asked for again
			if streams = r.events > before; r.done() {
				return nil
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
