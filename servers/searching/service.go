package searching

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// A service is a search that answers JSON with JSON.
type service struct {
	name, variable string
	client         *egress.Client
	url            string
	header         http.Header
}

const maxAnswer = 4 << 20

// ask asks a service until it answers with an object. Failures of the connection
// and passing statuses are repeated by the client, empty and broken answers here;
// all of it ends with the call.
func (to service) ask(ctx context.Context, body []byte, waits []time.Duration) (object, error) {
	to.header.Set("Content-Type", "application/json")
	before := "" // of what was broken, once something was
	for {
		resp, err := to.client.Do(ctx, egress.Request{
			Method: http.MethodPost, URL: to.url, Header: to.header, Body: body, MaxBody: maxAnswer, Retry: egress.Retry{Waits: waits, Unsafe: true},
		})
		attempts := 1
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF): // in the middle of the answer
			before = "; before, its answer broke off"
		case err != nil:
			return nil, fmt.Errorf("%s could not be asked: %w%s", to.name, err, before)
		case !resp.OK():
			return nil, to.refused(resp)
		default:
			answer, err := parse(resp.Body)
			if err == nil {
				return answer, nil
			}
			attempts = resp.Attempts
			before = "; before, it answered with nothing that is JSON"
		}
		waits = waits[min(attempts-1, len(waits)):]
		if len(waits) == 0 || !pause(ctx, waits[0]) {
			return nil, fmt.Errorf("%s answered with nothing that is JSON, each time it was asked. Try again later, or another tool", to.name)
		}
		waits = waits[1:]
	}
}

// pause waits, and reports whether there is time left then.
func pause(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// refused makes an error of an answer that tells of a failure.
func (to service) refused(resp *egress.Response) error {
	said := reason(resp.Body)
	switch resp.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%s does not take the key (%d%s): an operator has to look at %s", to.name, resp.Status, said, to.variable)
	case http.StatusPaymentRequired, 432, 433:
		return fmt.Errorf("the account at %s has nothing left to spend (%d%s)", to.name, resp.Status, said)
	case http.StatusTooManyRequests:
		return fmt.Errorf("%s was asked too often (429%s): wait a minute before the next search", to.name, said)
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return fmt.Errorf("%s does not take this search (%d%s): change the arguments", to.name, resp.Status, said)
	}
	return fmt.Errorf("%s answered %d %s%s, each time it was asked. Try again later, or another tool", to.name, resp.Status, http.StatusText(resp.Status), said)
}

// reason returns what the body of a failure says, if it says something.
func reason(body []byte) string {
	var e struct {
		Message string `json:"message"`
		Error   any    `json:"error"`
		Detail  any    `json:"detail"`
	}
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	for _, v := range []any{e.Message, e.Detail, e.Error} {
		if m, ok := v.(map[string]any); ok {
			v = m["error"]
		}
		if t, ok := v.(string); ok && t != "" {
			return ": " + egress.Plain(t, 200)
		}
	}
	return ""
}
