// Package probe asks services, side by side, for one cheap thing each, to see whether
// they can be reached and take the key that is set.
//
//	probes := probe.All(ctx, probe.Ask{Service: "Serper", Key: "SERPER_API_KEY", Do: probe.HTTP(client, request)})
//
// What a service says in its own words is not repeated: it may hold the key.
package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/tool"
)

// Limit is the time that a service has for its answer.
const Limit = 10 * time.Second

// An Ask is the probe of one service.
type Ask struct {
	Service string
	Key     string // the setting that holds its key, for what is said
	Missing string // what would set it up: it is not asked then
	// Do asks the service, and returns what a person may want to know of it. An error
	// that is no [FaultError] is that of a service that cannot be reached.
	Do func(ctx context.Context) (string, error)
}

// A FaultError is an answer that shows more than that nobody answers.
type FaultError struct {
	State tool.ProbeState
	Text  string
}

// Error returns the text.
func (f *FaultError) Error() string { return f.Text }

// All asks all services side by side, each for at most [Limit], in their order.
func All(ctx context.Context, asks ...Ask) []tool.Probe { return within(ctx, Limit, asks) }

func within(ctx context.Context, limit time.Duration, asks []Ask) []tool.Probe {
	out := make([]tool.Probe, len(asks))
	var wg sync.WaitGroup
	for i, a := range asks {
		wg.Go(func() { out[i] = a.probe(ctx, limit) })
	}
	wg.Wait()
	return out
}

func (a Ask) probe(ctx context.Context, limit time.Duration) tool.Probe {
	p := tool.Probe{Service: a.Service, State: tool.ProbeOK}
	if a.Missing != "" {
		p.State, p.Text = tool.ProbeNotConfigured, a.Missing
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	text, err := a.Do(ctx)
	fault, told := errors.AsType[*FaultError](err)
	switch {
	case err == nil:
		p.Text = egress.Plain(text, 200)
	case told:
		p.State, p.Text = fault.State, fault.Text
		if p.State == tool.ProbeWrongKey && a.Key != "" {
			p.Text += ": look at " + a.Key
		}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		p.State, p.Text = tool.ProbeUnreachable, fmt.Sprintf("it did not answer within %s", limit)
	default:
		p.State, p.Text = tool.ProbeUnreachable, egress.Plain(err.Error(), 300)
	}
	return p
}

const maxBody = 8 << 20

// HTTP returns what makes a request and judges it by its status. Also holds what further
// statuses mean there; nil is that the key was taken.
func HTTP(c *egress.Client, r egress.Request, also map[int]*FaultError) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		defer c.Close()
		r.MaxBody = maxBody
		resp, err := c.Do(ctx, r)
		if err != nil {
			return "", err
		}
		fault, known := also[resp.Status]
		switch {
		case fault != nil:
			return "", fault
		case known:
			return "", nil
		case !resp.OK():
			return "", Status(resp.Status, resp.Body)
		case bytes.HasPrefix(bytes.TrimSpace(resp.Body), []byte("<")):
			return "", &FaultError{tool.ProbeFailing, "it answers with a page for people: look at the base URL"}
		}
		return "", nil
	}
}

// Status returns what a status that tells of a failure means.
func Status(status int, body []byte) error {
	said := fmt.Sprintf("status %d %s", status, http.StatusText(status))
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusBadRequest && bytes.Contains(body, []byte("API key not valid")): // as Google has it
		return &FaultError{tool.ProbeWrongKey, "it does not take the key, or wants one (" + said + ")"}
	case status == http.StatusPaymentRequired, status == 432, status == 433:
		return &FaultError{tool.ProbeFailing, "it takes the key, whose account has nothing left to spend (" + said + ")"}
	case status == http.StatusTooManyRequests:
		return &FaultError{tool.ProbeFailing, "it was asked too often (" + said + "): try again in a minute"}
	case status >= 500:
		return &FaultError{tool.ProbeFailing, "it is out of order (" + said + ")"}
	}
	return &FaultError{tool.ProbeFailing, "it does not know what was asked for (" + said + "): look at the base URL"}
}
