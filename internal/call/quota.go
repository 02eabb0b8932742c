package call

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// How long a server is tried last that said so, where it does not say how long.
const (
	rateMemory  = time.Minute
	quotaMemory = 10 * time.Minute
	maxMemory   = time.Hour
)

// quotas remembers which servers said lately that what a caller may use is used
// up. There are at most as many as servers. It is safe for concurrent use.
type quotas struct {
	mu  sync.Mutex
	all map[string]spent // by server
}

// spent is what one server said.
type spent struct {
	what        string
	said, until time.Time
}

// usedUp is how services say that there is no more; the words are those of their
// error texts, not of pages.
var usedUp = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bquota\b|\brate[ -]?limit|\btoo many requests\b|\binsufficient (?:credits?|balance|funds)\b|\bout of credits\b|` +
		`\bcredits? (?:exhausted|used up|exceeded)\b|\bpayment required\b|\b(?:status|code|http|error)(?: code)?[: ]+(?:402|429)\b`)
})

// learn takes a failure that may say that something is used up.
func (q *quotas) learn(r *Request, res *tool.Result) {
	if r.Target == nil || !q.says(res) {
		return
	}
	s := spent{what: "its rate is used up", said: time.Now()}
	wait := rateMemory
	text := strings.ToLower(res.Text())
	if e, ok := errors.AsType[answeredHTTP](res.Err); ok && e.HTTPStatus() == http.StatusPaymentRequired ||
		!strings.Contains(text, "rate limit") && (strings.Contains(text, "quota") || strings.Contains(text, "credit") || strings.Contains(text, "402")) {
		s.what, wait = "its quota is used up", quotaMemory
	}
	if asked := retryAfter(res.Err); asked > 0 {
		wait = min(asked, maxMemory)
	}
	s.until = s.said.Add(wait)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.all == nil {
		q.all = map[string]spent{}
	}
	q.all[r.Target.Server] = s
}

// says reports whether a failure says that something is used up.
func (q *quotas) says(res *tool.Result) bool {
	if e, ok := errors.AsType[answeredHTTP](res.Err); ok {
		return e.HTTPStatus() == http.StatusTooManyRequests || e.HTTPStatus() == http.StatusPaymentRequired
	}
	const most = 4096 // a longer text is a page, not an error
	return res.Kind == tool.Failed && res.Raw.Len()+len(res.Message) <= most && usedUp().MatchString(res.Text())
}

// limited says what a server said lately, or "".
func (q *quotas) limited(server string) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	s, ok := q.all[server]
	if !ok {
		return ""
	}
	if time.Now().After(s.until) {
		delete(q.all, server)
		return ""
	}
	return fmt.Sprintf("said %s ago that %s", time.Since(s.said).Round(time.Second), s.what)
}
