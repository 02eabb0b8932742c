package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
)

const (
	// maxSilent is how many health checks in a row a server may leave without any
	// answer before it is replaced.
	maxSilent = 3
	// checkBound is how long one question of a health check waits for its answer.
	checkBound = 10 * time.Second
)

// errHung is the end of a link whose server does not answer any more.
var errHung = errors.New("the server stopped answering")

// tend watches over a link until it ends, and returns why. It also returns, with
// errHung, when the server has left several health checks without an answer, and
// with nil when ctx ends.
func (l *link) tend(ctx context.Context) error {
	var ticks <-chan time.Time
	every := l.from.o.HealthCheck
	if every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		ticks = ticker.C
	}
	mute := false // it does not answer pings
	// Many servers answer nothing while they work on a call. Silence then means
	// something only after a call has not ended in its time.
	doubted := false
	for silent := 0; silent < maxSilent; {
		select {
		case <-l.client.Done():
			return l.client.Err()
		case <-ctx.Done():
			return nil
		case <-ticks:
		case <-l.suspect:
			if every <= 0 {
				continue
			}
			doubted = true
		}
		answersCalls := time.Since(time.Unix(0, l.heard.Load())) < every
		if answersCalls || l.use.busy() && !doubted || l.answers(ctx, &mute) {
			silent, doubted = 0, false
			continue
		}
		silent++
	}
	if l.ended() {
		return l.client.Err()
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("%w: %d health checks found it silent", errHung, maxSilent)
}

// answers asks the server for a sign of life: a ping, and where that is left
// without an answer the list of tools, since some servers ignore what they do not
// know. Any answer is one, an error too.
func (l *link) answers(ctx context.Context, mute *bool) bool {
	methods := []string{"ping", "tools/list"}
	switch {
	case l.era == era.Modern:
		methods = []string{"server/discover"} // it knows no ping
	case *mute:
		methods = methods[1:]
	}
	for i, method := range methods {
		asked := time.Now().UnixNano()
		bounded, cancel := context.WithTimeout(ctx, min(checkBound, l.from.o.HealthCheck))
		_, err := l.request(bounded, method, nil, nil)
		cancel()
		if _, refused := errors.AsType[*jsonrpc.Error](err); err == nil || refused || l.heard.Load() > asked {
			*mute = *mute || i > 0
			return true
		}
		if neverSent(err) {
			return false
		}
	}
	return false
}
