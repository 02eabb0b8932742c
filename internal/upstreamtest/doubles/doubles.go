// Package doubles stands in for the services on the web that bundled servers ask:
// search engines, readers, encyclopedias and archives. Each double is an HTTP handler
// as strict as the service it stands for: what the service would not take, the double
// does not take either, with the error that the service gives.
//
//	web := doubles.NewWeb()                  // a few pages, always the same
//	jina := doubles.Jina(web)
//	base := doubles.Start(t, jina)           // http://127.0.0.1:PORT, gone with the test
//	jina.Fail(doubles.Fault{Status: 429, RetryAfter: "1", Times: 1})
//	…
//	for _, c := range jina.Calls() { … }     // what it was asked
//
// All doubles serve one small [Web], so that what a search finds can be read.
//
// To add one: a file of its own with a constructor that calls newDouble, and a line in
// [All]. The program in cmd serves them all on one port.
package doubles

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Key is the one that doubles take.
const Key = "not-a-real-key-000"

// A Fault is one thing that a service does wrong, or refuses.
type Fault struct {
	Status     int           `json:"status,omitempty"`      // answered in the service's own shape of errors
	Code       string        `json:"code,omitempty"`        // the service's own name for it, where it has more than one
	RetryAfter string        `json:"retry_after,omitempty"` // the header of that name
	Warning    string        `json:"warning,omitempty"`     // of services that warn beside an answer
	Slow       time.Duration `json:"slow,omitempty"`        // before the answer begins
	BadJSON    bool          `json:"bad_json,omitempty"`    // an answer that is none
	Truncated  bool          `json:"truncated,omitempty"`   // the connection ends in the middle of the answer
	Challenge  bool          `json:"challenge,omitempty"`   // a page that wants a person
	Empty      bool          `json:"empty,omitempty"`       // an answer without results, or without text

	Times int    `json:"times,omitempty"` // how many requests it meets; 0: all
	Match string `json:"match,omitempty"` // only those that hold this in address or body
}

// A Call is a request that a double got.
type Call struct {
	Method string
	Path   string // with its escapes
	Query  url.Values
	Header http.Header
	Body   []byte
}

// JSON reads the body into v, and reports whether it is JSON and is declared as such.
func (c Call) JSON(v any) bool {
	kind, _, _ := strings.Cut(c.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(kind) == "application/json" && json.Unmarshal(c.Body, v) == nil
}

// Form returns the fields of a form, in the body or the address.
func (c Call) Form() url.Values {
	if c.Method != http.MethodPost {
		return c.Query
	}
	kind, _, _ := strings.Cut(c.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(kind) != "application/x-www-form-urlencoded" {
		return url.Values{}
	}
	form, err := url.ParseQuery(string(c.Body))
	if err != nil {
		return url.Values{}
	}
	return form
}

// Bearer returns the token of the request.
func (c Call) Bearer() string {
	token, ok := strings.CutPrefix(c.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return token
}

// A Double stands in for one service. It is safe for concurrent use.
type Double struct {
	Name string

	serve func(w http.ResponseWriter, c Call, f Fault) // f: what of a fault belongs into an answer
	fail  func(w http.ResponseWriter, f Fault)         // an error of the status of f

	mu     sync.Mutex
	faults []Fault
	calls  []Call
}

// newDouble returns a double. Serve answers; it minds Warning, Challenge and Empty of a
// fault. Fail writes an error in the shape of the service.
func newDouble(name string, serve func(http.ResponseWriter, Call, Fault), fail func(http.ResponseWriter, Fault)) *Double {
	return &Double{Name: name, serve: serve, fail: fail}
}

// All returns a double of each service.
func All(web *Web) []*Double {
	return []*Double{
		Jina(web), Serper(web), Firecrawl(web),
		SearXNG(web), Brave(web), Tavily(web), DuckDuckGo(web), OpenWebSearch(web),
		OpenAI(), Anthropic(), Gemini(),
		MediaWiki(), Wayback(web), TencentWSA(web),
	}
}

// Start serves a handler on loopback until the test ends, and returns its address.
func Start(tb testing.TB, h http.Handler) string {
	tb.Helper()
	srv := httptest.NewServer(h)
	tb.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

// Fail makes the next requests meet faults: the first fault that matches a request and
// is not used up.
func (d *Double) Fail(faults ...Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, faults...)
}

// Heal takes all faults back.
func (d *Double) Heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = nil
}

// Calls returns what the double was asked, in order.
func (d *Double) Calls() []Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Call(nil), d.calls...)
}

// note keeps a request, and returns the fault that it meets.
func (d *Double) note(c Call) Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, c)
	for i, f := range d.faults {
		if f.Match != "" && !strings.Contains(c.Path+"?"+c.Query.Encode()+"\n"+string(c.Body), f.Match) {
			continue
		}
		if f.Times == 1 {
			d.faults = append(d.faults[:i:i], d.faults[i+1:]...)
		} else if f.Times > 1 {
			d.faults[i].Times--
		}
		return f
	}
	return Fault{}
}

const maxBody = 32 << 20 // images and sounds

// ServeHTTP implements [http.Handler].
func (d *Double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return
	}
	c := Call{r.Method, r.URL.EscapedPath(), r.URL.Query(), r.Header.Clone(), body}
	c.Header.Set("Host", r.Host) // which signatures cover
	f := d.note(c)
	if f.Slow > 0 {
		t := time.NewTimer(f.Slow)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			return
		}
	}
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	switch {
	case f.Status != 0:
		d.fail(w, f)
	case f.BadJSON:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"results": [ {"title": "half`)
	case f.Truncated:
		d.half(w, c, f)
	default:
		d.serve(w, c, f)
	}
}

// half sends the first half of an answer and breaks the connection.
func (d *Double) half(w http.ResponseWriter, c Call, f Fault) {
	var whole recorder
	d.serve(&whole, c, f)
	maps.Copy(w.Header(), whole.header)
	w.Header().Set("Content-Length", strconv.Itoa(whole.body.Len()))
	_, _ = w.Write(whole.body.Bytes()[:whole.body.Len()/2])
	if fl, ok := w.(http.Flusher); ok {
		fl.Flush()
	}
	panic(http.ErrAbortHandler)
}

type recorder struct {
	header http.Header
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (r *recorder) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(int) {}

// reply writes JSON.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // the client is gone
}

// replyHTML writes a page.
func replyHTML(w http.ResponseWriter, status int, page string) {
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, page)
}

// object is what JSON calls so.
type object = map[string]any
