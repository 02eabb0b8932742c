package rest

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

type callList struct {
	Calls []tenon.CallRecord `json:"calls"`
	Next  string             `json:"next_cursor,omitempty"`
	// Unrecorded are calls that went on without a record, among these.
	Unrecorded int64 `json:"unrecorded,omitempty"`
	// Record is there where calls are missing, or cannot be written now.
	Record *tenon.RecordStatus `json:"record,omitempty"`
}

// trouble returns how the writing of the record goes, where that does not go well.
func trouble(gw *tenon.Gateway) *tenon.RecordStatus {
	if st, ok := gw.Record().Status(); ok && (st.Gone != "" || st.Unrecorded > 0) {
		return &st
	}
	return nil
}

// callFilters are the parameters of a list of calls.
var callFilters = []string{"server", "tool", "kind", "session", "task", "caller", "since", "until", "limit", "cursor"}

// Values of the parameter kind that are no kinds of errors.
const (
	succeeded = "ok"
	running   = "running"
)

func (a *api) calls(r *http.Request, _ tool.Caller) (response, error) {
	q, err := query(r, callFilters...)
	if err != nil {
		return response{}, err
	}
	f, err := callFilter(q, time.Now())
	if err != nil {
		return response{}, err
	}
	page, err := a.gw.Record().Calls(r.Context(), f)
	if err != nil {
		return response{}, err
	}
	out := callList{Calls: page.Calls, Unrecorded: page.Unrecorded, Record: trouble(a.gw)}
	if page.Next > 0 {
		out.Next = strconv.FormatInt(page.Next, 10)
	}
	return jsonOf(out)
}

type usageList struct {
	Usage []tenon.UsageSum `json:"usage"`
}

// usage sums up what models took for calls.
func (a *api) usage(r *http.Request, _ tool.Caller) (response, error) {
	q, err := query(r, callFilters[:len(callFilters)-2]...)
	if err != nil {
		return response{}, err
	}
	f, err := callFilter(q, time.Now())
	if err != nil {
		return response{}, err
	}
	sums, err := a.gw.Record().Usage(r.Context(), f)
	if err != nil {
		return response{}, err
	}
	return jsonOf(usageList{sums})
}

func callFilter(q url.Values, now time.Time) (f tenon.CallFilter, err error) {
	f = tenon.CallFilter{
		Server: q.Get("server"), Tool: q.Get("tool"), Session: q.Get("session"), Task: q.Get("task"), Caller: q.Get("caller"),
	}
	if kind := q.Get("kind"); kind == succeeded {
		f.OK = true
	} else if kind == running {
		f.Running = true
	} else if f.Kind = tool.Kind(kind); kind != "" && statusOf[f.Kind] == 0 {
		return f, &Error{Text: "kind: must be " + succeeded + ", " + running + " or a kind of error such as denied, not " + strconv.Quote(kind), Kind: tool.Invalid}
	}
	if f.Limit, err = limit(q, 100, 1000); err != nil {
		return f, err
	}
	if cursor := q.Get("cursor"); cursor != "" {
		if f.Cursor, err = strconv.ParseInt(cursor, 10, 64); err != nil || f.Cursor < 1 {
			return f, &Error{Text: "cursor: must be next_cursor of the page before", Kind: tool.Invalid}
		}
	}
	for name, to := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if text := q.Get(name); text != "" {
			at, ok := ParseTime(text, now)
			if !ok {
				return f, &Error{Text: name + ": must be a time such as 2026-01-31T08:00:00Z, or how long ago, such as 90m or 7d", Kind: tool.Invalid}
			}
			*to = at
		}
	}
	return f, nil
}

// ParseTime reads a time, a day, or how long ago it was, in days too.
func ParseTime(text string, now time.Time) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, true
		}
	}
	if n := len(text) - 1; n > 0 && text[n] == 'd' {
		days, err := strconv.ParseUint(text[:n], 10, 16)
		return now.AddDate(0, 0, -int(days)), err == nil
	}
	ago, err := time.ParseDuration(text)
	return now.Add(-ago), err == nil && ago >= 0
}

// record gives the record of one call. What it was called with, what it answered
// and what was decided is for its own caller, and for who decides on calls.
func (a *api) record(r *http.Request, caller tool.Caller) (response, error) {
	rec, err := a.gw.Record().Call(r.Context(), r.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	operator := caller.Grant != nil && caller.Grant.Approver
	if !operator && rec.Caller.Name != caller.Name {
		rec.CallDetails = nil
	}
	return jsonOf(rec)
}

// recordStatus gives how the writing of the record goes.
func (a *api) recordStatus(r *http.Request, _ tool.Caller) (response, error) {
	if _, err := query(r); err != nil {
		return response{}, err
	}
	st, _ := a.gw.Record().Status()
	return jsonOf(st)
}

// Calls returns the last calls, newest first, and at most limit of them.
func (c *Client) Calls(ctx context.Context, limit int) ([]tenon.CallRecord, error) {
	page, _, err := RecordClient{c}.Recorded(ctx, tenon.CallFilter{Limit: limit})
	return page.Calls, err
}

// A RecordClient asks a gateway for its record.
type RecordClient struct{ *Client }

// Recorded returns calls by a filter, the newest first, without details. The status
// is there where calls are missing, or cannot be written now.
func (c RecordClient) Recorded(ctx context.Context, f tenon.CallFilter) (page tenon.CallPage, status *tenon.RecordStatus, err error) {
	var out callList
	if err := c.get(ctx, "/calls", filterQuery(f), &out); err != nil {
		return page, nil, err
	}
	page.Calls, page.Unrecorded = out.Calls, out.Unrecorded
	page.Next, _ = strconv.ParseInt(out.Next, 10, 64) // a gateway sends a number or nothing
	return page, out.Record, nil
}

// Usage sums up what models took for the calls of a filter.
func (c RecordClient) Usage(ctx context.Context, f tenon.CallFilter) ([]tenon.UsageSum, error) {
	f.Limit, f.Cursor = 0, 0
	var out usageList
	err := c.get(ctx, "/usage", filterQuery(f), &out)
	return out.Usage, err
}

// filterQuery returns a filter as parameters.
func filterQuery(f tenon.CallFilter) url.Values {
	q := url.Values{
		"server": one(f.Server), "tool": one(f.Tool), "kind": one(string(f.Kind)), "session": one(f.Session), "task": one(f.Task), "caller": one(f.Caller),
	}
	if f.OK {
		q.Set("kind", succeeded)
	}
	if f.Running {
		q.Set("kind", running)
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	if f.Cursor > 0 {
		q.Set("cursor", strconv.FormatInt(f.Cursor, 10))
	}
	if !f.Since.IsZero() {
		q.Set("since", f.Since.Format(time.RFC3339Nano))
	}
	if !f.Until.IsZero() {
		q.Set("until", f.Until.Format(time.RFC3339Nano))
	}
	return q
}

// CallRecord returns the record of one call, with what this caller may know of it.
func (c *Client) CallRecord(ctx context.Context, id string) (tenon.CallRecord, error) {
	var out tenon.CallRecord
	err := c.get(ctx, "/calls/"+url.PathEscape(id), nil, &out)
	return out, err
}

// RecordStatus returns how the writing of the record goes.
func (c RecordClient) RecordStatus(ctx context.Context) (tenon.RecordStatus, error) {
	var out tenon.RecordStatus
	err := c.get(ctx, "/record", nil, &out)
	return out, err
}
