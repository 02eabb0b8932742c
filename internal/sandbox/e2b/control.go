package e2b

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/tool"
)

// A control is the control plane.
type control struct {
	http  *egress.Client
	base  string
	key   tool.Secret
	waits []time.Duration
}

// machine is what the control plane says of one.
type machine struct {
	SandboxID    string            `json:"sandboxID"`
	Domain       string            `json:"domain"`
	Token        string            `json:"envdAccessToken"`
	TrafficToken string            `json:"trafficAccessToken"`
	Metadata     map[string]string `json:"metadata"`
	MemoryMB     int               `json:"memoryMB"`
	DiskMB       int               `json:"diskSizeMB"`
	CPUs         int               `json:"cpuCount"`
}

type newSandbox struct {
	Template string            `json:"templateID"`
	Timeout  int               `json:"timeout"`
	Secure   bool              `json:"secure"`
	Internet bool              `json:"allow_internet_access"`
	Metadata map[string]string `json:"metadata"`
}

type newTimeout struct {
	Timeout int `json:"timeout"`
}

// isMachine reports whether a name is one of a machine, fit for the name of a host.
func isMachine(name string) bool { return isName(name, 40, "-") }

// isName reports whether a text is a name of letters, digits and, behind the first of
// these, other characters.
func isName(s string, most int, others string) bool {
	for i, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && strings.IndexByte(others, c) >= 0:
		default:
			return false
		}
	}
	return s != "" && len(s) <= most
}

func (c *control) header() http.Header {
	return http.Header{"X-Api-Key": {c.key.Reveal()}, "Accept": {"application/json"}}
}

// A statusError is an answer that tells of a failure.
type statusError struct {
	status int
	text   string // in the words of the service, made plain
}

func (e *statusError) Error() string {
	said := fmt.Sprintf("status %d %s", e.status, http.StatusText(e.status))
	if e.text != "" {
		said += ": " + e.text
	}
	return said
}

// ask makes a request. Where it is not safe, it is repeated only after an answer by
// which the service has not done it.
func (c *control) ask(ctx context.Context, method, path string, in, out any, safe bool) error {
	r := egress.Request{Method: method, URL: c.base + path, Header: c.header(), Timeout: makeLimit, MaxBody: 8 << 20}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return err
		}
		r.Body = body
		r.Header.Set("Content-Type", "application/json")
	}
	if safe {
		r.Retry = egress.Retry{Waits: c.waits, Unsafe: true, Jitter: 0.2}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*makeLimit)
	defer cancel()
	for attempt := 0; ; attempt++ {
		resp, err := c.http.Do(ctx, r)
		if err != nil {
			return err
		}
		if resp.OK() {
			if out == nil {
				return nil
			}
			if err := json.Unmarshal(resp.Body, out); err != nil {
				return fmt.Errorf("its answer is no JSON of the expected form (status %d)", resp.Status)
			}
			return nil
		}
		declined := resp.Status == http.StatusTooManyRequests || resp.Status == http.StatusServiceUnavailable
		if safe || !declined || attempt >= len(c.waits) || !pause(ctx, c.waits[attempt], resp.Header.Get("Retry-After")) {
			return &statusError{resp.Status, c.plain(resp.Body)}
		}
	}
}

// pause waits before a request is repeated, and reports whether it is to be.
func pause(ctx context.Context, wait time.Duration, after string) bool {
	const longest = 30 * time.Second
	if n, err := strconv.Atoi(strings.TrimSpace(after)); err == nil && n > 0 {
		wait = max(wait, time.Duration(min(n, 1<<20))*time.Second)
	}
	if deadline, ok := ctx.Deadline(); wait > longest || ok && time.Until(deadline) < wait {
		return false
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// plain returns what an error says, without the key.
func (c *control) plain(body []byte) string { return said(body, c.key.Reveal()) }

func said(body []byte, secrets ...string) string {
	var e struct {
		Message string `json:"message"`
		Code    string `json:"error_code"`
	}
	if json.Unmarshal(body, &e) != nil || e.Message == "" {
		return ""
	}
	text := e.Message
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[hidden]")
		}
	}
	return egress.Plain(text, 300)
}

// told makes of an error of the control plane one with what to do.
func told(doing string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e, ok := errors.AsType[*statusError](err)
	if !ok {
		return &sandbox.Error{Kind: sandbox.Unavailable, Text: fmt.Sprintf("E2B could not be asked to %s: %v. Try again in a minute", doing, err)}
	}
	kind, hint := sandbox.Unavailable, "Look at option e2b_base_url"
	switch {
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden:
		hint = "It does not take the key: an operator has to look at E2B_API_KEY"
	case e.status == http.StatusPaymentRequired:
		hint = "The account has nothing left to spend"
	case e.status == http.StatusTooManyRequests:
		kind, hint = sandbox.Limit, "There are too many sandboxes or requests: end sandboxes that are not needed with kill_sandbox, or try again in a minute"
	case e.status == http.StatusBadRequest, e.status == http.StatusNotFound:
		hint = "An operator has to look at the options e2b_template and e2b_base_url"
	case e.status >= 500:
		hint = "It is out of order or full: try again in a minute"
	}
	return &sandbox.Error{Kind: kind, Text: fmt.Sprintf("E2B did not %s (%v). %s", doing, e, hint)}
}

// create has a machine made, and where it cannot be known whether that was done, has it
// ended again.
func (c *control) create(ctx context.Context, o Options, own *maker) (*machine, error) {
	order := strings.ToLower(rand.Text())
	in := newSandbox{
		Template: o.Template, Timeout: int(o.TTL / time.Second), Secure: true, Internet: o.Internet,
		Metadata: map[string]string{metaOwner: own.name(), metaOrder: order},
	}
	if own != nil {
		in.Metadata[metaHome] = own.home
	}
	var m machine
	err := c.ask(ctx, http.MethodPost, "/sandboxes", in, &m, false)
	if err == nil && !isMachine(m.SandboxID) {
		err = errors.New("its answer names no sandbox")
	}
	if err == nil {
		return &m, nil
	}
	if e, ok := errors.AsType[*statusError](err); !ok || e.status >= 500 {
		c.undo(ctx, order)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, told("make a sandbox", err)
}

// undo ends what an order may have made. Where that fails too, it ends by its own time.
func (c *control) undo(ctx context.Context, order string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askLimit)
	defer cancel()
	all, _ := c.list(ctx, metaOrder, order)
	for _, m := range all {
		_ = c.kill(ctx, m.SandboxID)
	}
}

// abandon ends a machine that is of no use.
func (c *control) abandon(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askLimit)
	defer cancel()
	_ = c.kill(ctx, id) // else it ends by its own time
}

// list returns the running machines whose metadata has a value. That is looked at here
// too: whoever passes over what was asked for would have all machines ended.
func (c *control) list(ctx context.Context, name, value string) ([]machine, error) {
	var all []machine
	err := c.ask(ctx, http.MethodGet, "/v2/sandboxes?limit=100&state=running,paused&metadata="+url.QueryEscape(name+"="+value), nil, &all, true)
	if err != nil {
		return nil, err
	}
	var named []machine
	for _, m := range all {
		if isMachine(m.SandboxID) && m.Metadata[name] == value {
			named = append(named, m)
		}
	}
	return named, nil
}

// prolong lets a machine live for so long from now.
func (c *control) prolong(ctx context.Context, id string, ttl time.Duration) error {
	return c.ask(ctx, http.MethodPost, "/sandboxes/"+id+"/timeout", newTimeout{int(ttl / time.Second)}, nil, true)
}

// kill ends a machine. One that is not there has ended.
func (c *control) kill(ctx context.Context, id string) error {
	err := c.ask(ctx, http.MethodDelete, "/sandboxes/"+id, nil, nil, true)
	if isGone(err) {
		return nil
	}
	return err
}

// detail returns what is known of a machine.
func (c *control) detail(ctx context.Context, id string) (*machine, error) {
	var m machine
	err := c.ask(ctx, http.MethodGet, "/sandboxes/"+id, nil, &m, true)
	return &m, err
}

// size says how large a machine is, where that is known.
func (c *control) size(ctx context.Context, id string) (sandbox.Size, string) {
	m, err := c.detail(ctx, id)
	if err != nil || m.MemoryMB <= 0 {
		return sandbox.Size{}, ""
	}
	return sandbox.Size{Memory: int64(m.MemoryMB) << 20, Disk: int64(max(0, m.DiskMB)) << 20}, fmt.Sprintf("%d MiB of memory, %d MiB of disk and %d processors", m.MemoryMB, m.DiskMB, m.CPUs)
}

// isGone reports whether an answer says that there is no such machine.
func isGone(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.status == http.StatusNotFound
}
