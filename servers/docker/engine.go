package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/dockerhost"
	"github.com/tenon-mcp/tenon/internal/jsonsize"
	"github.com/tenon-mcp/tenon/internal/spelling"
	"github.com/tenon-mcp/tenon/internal/version"
)

const (
	usualLimit = 15 * time.Second
	longLimit  = 30 * time.Second
	// maxAnswer bounds what the engine may answer, but for logs and events, of
	// which only as much is read as is wanted.
	maxAnswer = 32 << 20
	// maxElements bounds the elements of all lists in one answer: each needs much
	// more memory than bytes.
	maxElements = 200_000
)

// An engine is the connection of one call.
type engine struct {
	*client.Client
	host dockerhost.Host
	base *http.Transport
	skew atomic.Int64 // how far its clock is ahead of ours, in ns, where that is more than a moment
}

// open makes the client, which connects when it is first used.
func (e *engine) open() error {
	base, err := e.host.Transport()
	if err != nil {
		return err
	}
	e.base = base
	scheme := "http"
	if e.host.TLS {
		scheme = "https"
	}
	e.Client, err = e.host.Client(client.WithHTTPClient(&http.Client{Transport: e, CheckRedirect: client.CheckRedirect}),
		client.WithScheme(scheme), client.WithUserAgent(version.Agent("docker")))
	return err
}

// ask finds the engine and answers a call by it, all within limit.
func ask[In input, Out any](ctx context.Context, s *server, limit time.Duration, in In, answer func(context.Context, *engine, In) (string, Out, error)) (says string, out Out, err error) {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	host, err := dockerhost.Find(ctx, s.find)
	if err != nil {
		return "", out, err
	}
	e := &engine{host: host}
	if err = e.open(); err != nil {
		return "", out, err
	}
	defer e.base.CloseIdleConnections()
	if _, err = e.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err == nil {
		says, out, err = answer(ctx, e, in)
	}
	if err == nil {
		return says, out, nil
	}
	switch {
	case outer.Err() != nil:
		return "", out, outer.Err()
	case ctx.Err() != nil:
		return "", out, e.late(limit, in)
	case in.about() != "" && errdefs.IsNotFound(err):
		return "", out, e.unknown(ctx, in.about())
	}
	return "", out, e.failed(ctx, err)
}

// RoundTrip carries requests, bounds their answers and looks at their clock.
func (e *engine) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := e.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if at, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		if skew := time.Until(at); skew.Abs() > 3*time.Second {
			e.skew.Store(int64(skew))
		}
	}
	if path := r.URL.Path; !strings.HasSuffix(path, "/logs") && !strings.HasSuffix(path, "/events") {
		res.Body = &bounded{ReadCloser: res.Body, left: maxAnswer}
	}
	return res, nil
}

// now is the time by the clock of the engine.
func (e *engine) now() time.Time { return time.Now().Add(time.Duration(e.skew.Load())) }

// bounded fails where a body is larger than anything that is asked for.
type bounded struct {
	io.ReadCloser
	left  int
	gauge jsonsize.Gauge
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the engine's answer is larger than 32 MiB")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	if b.gauge.Add(p[:n]); b.gauge.Elements > maxElements || b.gauge.Members > 10*maxElements {
		return 0, fmt.Errorf("the engine's answer lists more than %d things", maxElements)
	}
	return n, err
}

// late says that the time was over, and what that means.
func (e *engine) late(limit time.Duration, in input) error {
	if p, ok := any(in).(powerInput); ok {
		return fmt.Errorf("the engine at %s has not said within %s that it is done with %s; it may still do it. Look with docker_ps before trying again", e.host, limit, p.Name)
	}
	next := "see whether docker_ps answers"
	if _, ok := any(in).(psInput); ok {
		next = "if that is of no use, a person looks at the engine on its machine"
	}
	return fmt.Errorf("the engine at %s did not answer within %s. It may be busy or hang: try again; %s. The operator can raise the option timeout_sec", e.host, limit, next)
}

// failed returns an error of the engine as an answer.
func (e *engine) failed(ctx context.Context, err error) error {
	if explained := e.host.Explain(ctx, err); errors.Is(explained, dockerhost.ErrUnreachable) {
		return explained
	}
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	text = answer.Line(text, 300)
	if strings.HasPrefix(text, "invalid character") || strings.Contains(strings.ToLower(text), "<!doctype") || strings.HasSuffix(text, "404 page not found") {
		return fmt.Errorf("no container engine answers at %s: what listens there speaks something else (%s). Most likely it is another port or service; the operator looks at where the address is from", e.host, text)
	}
	if errdefs.IsNotImplemented(err) || strings.Contains(text, "does not support reading") {
		text += ". It cannot do this, or not for this container"
	}
	return fmt.Errorf("the engine at %s says: %s", e.host, text)
}

// name is what the engine allows for names, and what ids look like. Nothing that
// matches is an option, a path or a part of one.
var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$`) })

func checkName(s string) error {
	if !name().MatchString(s) {
		return fmt.Errorf("%q is no name or id of a container: letters, digits, _ . and - only, at most 128, a letter or digit first. docker_ps lists the names", answer.Line(s, 60))
	}
	return nil
}

// unknown says that there is no such container, and which ones are like it.
func (e *engine) unknown(ctx context.Context, wanted string) error {
	list, err := e.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		return e.failed(ctx, err)
	}
	if len(list.Items) == 0 {
		return fmt.Errorf("there is no container %s, and none at all at %s", wanted, e.host)
	}
	if near := nearest(wanted, list.Items); len(near) > 0 {
		return fmt.Errorf("there is no container %s. Like it: %s", wanted, strings.Join(near, ", "))
	}
	return fmt.Errorf("there is no container %s among the %d at %s; docker_ps lists them", wanted, len(list.Items), e.host)
}

// nearest returns up to five names that are like wanted, the most like first.
func nearest(wanted string, list []container.Summary) []string {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	w := strings.ToLower(wanted)
	for _, c := range list {
		n := strings.ToLower(nameOf(c))
		d := spelling.Distance(w, n)
		switch {
		case c.Labels["com.docker.compose.service"] == wanted:
			d = 0
		case strings.Contains(n, w) || strings.Contains(w, n):
			d = 1
		case d > max(2, len(w)/3):
			continue
		}
		near = append(near, candidate{nameOf(c), d})
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.distance - b.distance })
	var names []string
	for _, c := range near[:min(len(near), 5)] {
		names = append(names, answer.Line(c.name, 80))
	}
	return names
}

// nameOf returns the name of a container without the slash before it.
func nameOf(c container.Summary) string {
	for _, n := range c.Names { // links have more than one slash
		if n = strings.TrimPrefix(n, "/"); !strings.Contains(n, "/") {
			return n
		}
	}
	return shortID(c.ID)
}

// shortID returns the part of an id that people use.
func shortID(id string) string {
	id = strings.TrimPrefix(id, "sha256:")
	return answer.Line(id[:min(len(id), 12)], 12)
}
