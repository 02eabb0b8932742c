package wiki

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// MaxRevisions is the most that one request returns.
const MaxRevisions = 500

// A Revision is one state of a page.
type Revision struct {
	ID     int64     `json:"revid"`
	Parent int64     `json:"parentid"`
	Time   time.Time `json:"timestamp"`
	URL    string    `json:"-"`
}

// A History is what became of a page in a time.
type History struct {
	Language  string
	Title     string
	Revisions []Revision // the oldest first
	More      bool       // there are more in that time
}

// Revisions returns at most n revisions of a page between two times.
func (w *Wiki) Revisions(ctx context.Context, a Ask, from, to time.Time, n int) (History, error) {
	p, err := a.place()
	if err != nil {
		return History{}, err
	}
	if !p.legal() {
		return History{}, w.missing(ctx, p)
	}
	const form = "2006-01-02T15:04:05Z"
	var q query
	err = w.call(ctx, p.language, url.Values{
		"action": {"query"}, "titles": {p.title}, "redirects": {"1"}, "converttitles": {"1"}, "prop": {"info|revisions"}, "inprop": {"url"},
		"rvprop": {"timestamp|ids"}, "rvdir": {"newer"}, "rvlimit": {strconv.Itoa(min(max(n, 1), MaxRevisions))},
		"rvstart": {from.UTC().Format(form)}, "rvend": {to.UTC().Format(form)},
	}, &q)
	if err != nil {
		return History{}, err
	}
	if len(q.Query.Pages) == 0 || q.Query.Pages[0].Missing || q.Query.Pages[0].Invalid {
		return History{}, w.missing(ctx, p)
	}
	got := q.Query.Pages[0]
	h := History{Language: p.language, Title: got.Title, Revisions: got.Revisions, More: q.Continue != nil}
	base := indexOf(got.FullURL, p.language)
	for i := range h.Revisions {
		h.Revisions[i].URL = base + "?" + url.Values{"title": {strings.ReplaceAll(got.Title, " ", "_")}, "oldid": {strconv.FormatInt(h.Revisions[i].ID, 10)}}.Encode()
	}
	return h, nil
}

// indexOf returns the script that shows revisions, on the host of a page.
func indexOf(page, lang string) string {
	if u, err := url.Parse(page); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
		return u.Scheme + "://" + u.Host + "/w/index.php"
	}
	return "https://" + lang + ".wikipedia.org/w/index.php"
}
