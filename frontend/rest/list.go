package rest

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

type serverList struct {
	Servers []tool.ServerStatus `json:"servers"`
	// Record is there where calls are not recorded as they should be.
	Record *tenon.RecordStatus `json:"record,omitempty"`
	// Configuration is there where the gateway did not take the one of its files.
	Configuration *tenon.Rejected `json:"configuration,omitempty"`
}

func (a *api) servers(r *http.Request, caller tool.Caller) (response, error) {
	if _, err := query(r); err != nil {
		return response{}, err
	}
	rejected := a.gw.Rejected()
	if rejected != nil && caller.Grant != nil && !caller.Grant.Approver {
		rejected = &tenon.Rejected{Since: rejected.Since, Taken: rejected.Taken} // the files are the operator's
	}
	return jsonOf(serverList{a.gw.Status(), trouble(a.gw), rejected})
}

// scopeKeys are the parameters that say as whom to look.
var scopeKeys = []string{"session", "skill", "mode"}

// scopeOf returns who looks.
func scopeOf(r *http.Request, q url.Values, caller tool.Caller) tenon.Viewer {
	return tenon.Viewer{
		Caller:  caller,
		Session: cmp.Or(q.Get("session"), r.Header.Get("X-Tenon-Session"), r.Header.Get("X-Tenon-Task")),
		Skill:   cmp.Or(q.Get("skill"), r.Header.Get("X-Tenon-Skill")),
		Mode:    tool.Mode(q.Get("mode")),
	}
}

func (a *api) tools(r *http.Request, caller tool.Caller) (response, error) {
	q, err := query(r, append([]string{"server", "format", "lazy"}, scopeKeys...)...)
	if err != nil {
		return response{}, err
	}
	scope := scopeOf(r, q, caller)
	scope.Lazy = tenon.LazyMode(q.Get("lazy"))
	if f := Format(q.Get("format")); scope.Lazy != "" && (f == "" || f == Table) {
		return response{}, &Error{Text: "lazy: name a format for models too, such as format=openai", Kind: tool.Invalid}
	}
	listing, err := a.gw.Tools(r.Context(), tenon.ListOptions{Viewer: scope, Server: q.Get("server")})
	if err != nil {
		return response{}, err
	}
	format := Format(q.Get("format"))
	if format == "" {
		return jsonOf(listing)
	}
	offer, err := a.gw.Offered(scope)
	if err != nil {
		return response{}, err
	}
	if q.Get("server") != "" {
		offer = offer.Direct()
	}
	body, err := Render(listing, offer, format)
	if err != nil {
		return response{}, err
	}
	if format == Table || format == Prompt {
		return response{contentType: typeText, body: body}, nil
	}
	return response{contentType: typeJSON, body: body}, nil
}

// DefaultLimit is how many tools a search gives that asks for no number.
const DefaultLimit = 10

type matchList struct {
	Matches []tenon.Match `json:"matches"`
}

func (a *api) search(r *http.Request, caller tool.Caller) (response, error) {
	q, err := query(r, append([]string{"q", "limit"}, scopeKeys...)...)
	if err != nil {
		return response{}, err
	}
	words := q.Get("q")
	if strings.TrimSpace(words) == "" {
		return response{}, &Error{Text: "q: the words to search for are missing", Kind: tool.Invalid}
	}
	limit, err := limit(q, DefaultLimit, 100)
	if err != nil {
		return response{}, err
	}
	matches, err := a.gw.Find(r.Context(), tenon.FindOptions{Viewer: scopeOf(r, q, caller), Words: words, Limit: limit})
	if err != nil {
		return response{}, err
	}
	return jsonOf(matchList{matches})
}

func (a *api) openapi(*http.Request, tool.Caller) (response, error) {
	return response{contentType: typeJSON, body: a.document}, nil
}

// query returns the query of r. A parameter that is not known is an error: who
// misspells one must not get the answer to another question.
func query(r *http.Request, known ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &Error{Text: "query: " + err.Error(), Kind: tool.Invalid}
	}
	for name, values := range q {
		if !slices.Contains(known, name) {
			return nil, &Error{Text: fmt.Sprintf("there is no parameter %q; known: %s", name, strings.Join(known, ", ")), Kind: tool.Invalid}
		}
		if len(values) > 1 {
			return nil, &Error{Text: name + ": given twice", Kind: tool.Invalid}
		}
	}
	return q, nil
}

func limit(q url.Values, usual, most int) (int, error) {
	text := q.Get("limit")
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, &Error{Text: fmt.Sprintf("limit: must be a number from 1 to %d, not %q", most, text), Kind: tool.Invalid}
	}
	return n, nil
}
