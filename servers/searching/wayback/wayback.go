// Package wayback finds archived copies of web pages in the Wayback Machine of the
// Internet Archive.
//
//	m, err := wayback.New(wayback.Options{Client: client})
//	copy, err := m.Closest(ctx, "https://example.com/", "20150602") // or "" for the newest
//	if errors.Is(err, wayback.ErrNone) {
//		… nothing was ever archived …
//	}
//
// Two services know of copies. The first to be asked is the one for availability,
// which is made for the question but often says nothing where there are copies. The
// index (CDX) has them all, and is asked where the first knows none or fails.
package wayback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// Where the services are.
const (
	DefaultArchive = "https://archive.org"     // availability
	DefaultWayback = "https://web.archive.org" // the index, and the copies
)

const (
	maxAnswer = 1 << 20
	near      = 10 // rows of the index around a date
	stampForm = "20060102150405"
)

// ErrNone is the error where there is no copy.
var ErrNone = errors.New("no archived copy is known")

// Options say how the archive is reached.
type Options struct {
	Client  *egress.Client // that of the web; base URLs of the operator's get clients of their own
	Archive string         // default DefaultArchive
	Wayback string         // default DefaultWayback
	Retry   egress.Retry
}

// A Machine finds copies. It is safe for concurrent use.
type Machine struct {
	archive, wayback    string
	availability, index *egress.Client
	retry               egress.Retry
}

// New returns a Machine. Its error names the base URL that is wrong: archive or
// wayback.
func New(o Options) (*Machine, error) {
	m := &Machine{retry: o.Retry}
	var err error
	if m.archive, m.availability, err = at(o.Client, o.Archive, DefaultArchive); err != nil {
		return nil, fmt.Errorf("archive_base_url: %w", err)
	}
	if m.wayback, m.index, err = at(o.Client, o.Wayback, DefaultWayback); err != nil {
		return nil, fmt.Errorf("wayback_base_url: %w", err)
	}
	return m, nil
}

func at(web *egress.Client, base, usual string) (string, *egress.Client, error) {
	base = strings.TrimRight(strings.TrimSpace(base), "/")
	if base == "" || base == usual {
		return usual, web, nil
	}
	c, err := web.Service(base)
	return base, c, err
}

// A Copy is a page as it was.
type Copy struct {
	URL       string // of the copy
	Original  string
	Time      time.Time
	Status    string // of the answer that was archived, or empty
	Available bool   // it may be read
	Index     bool   // the index told of it
}

// Closest returns the copy of a page that is closest to a moment, written as 4 to 14
// digits of year, month, day and time; or the newest one where that is empty. The
// error is ErrNone where there is none, and tells what went wrong where nobody could
// be asked.
func (m *Machine) Closest(ctx context.Context, page, moment string) (Copy, error) {
	c, err := m.available(ctx, page, moment)
	if err == nil || ctx.Err() != nil {
		return c, err
	}
	c, second := m.indexed(ctx, page, moment)
	switch {
	case second == nil || ctx.Err() != nil:
		return c, second
	case errors.Is(second, ErrNone) && !errors.Is(err, ErrNone):
		return c, err // half an answer is no "none"
	case errors.Is(err, ErrNone) && !errors.Is(second, ErrNone):
		return c, fmt.Errorf("the first service knows no copy, and the index failed: %w", second)
	}
	return c, second
}

// available asks the service that is made for the question.
func (m *Machine) available(ctx context.Context, page, moment string) (Copy, error) {
	params := url.Values{"url": {page}}
	if moment != "" {
		params.Set("timestamp", moment)
	}
	var answer struct {
		Snapshots struct {
			Closest *struct {
				Available   bool
				Status, URL string
				Timestamp   string
			}
		} `json:"archived_snapshots"`
	}
	if err := m.get(ctx, m.availability, m.archive+"/wayback/available?"+params.Encode(), &answer); err != nil {
		return Copy{}, err
	}
	s := answer.Snapshots.Closest
	if s == nil {
		return Copy{}, ErrNone
	}
	when, err := stamp(s.Timestamp)
	if err != nil {
		return Copy{}, err
	}
	return Copy{URL: m.copyURL(s.Timestamp, page), Original: page, Time: when, Status: egress.Plain(s.Status, 10), Available: s.Available}, nil
}

// indexed asks the index of all copies.
func (m *Machine) indexed(ctx context.Context, page, moment string) (Copy, error) {
	params := url.Values{
		"url": {page}, "output": {"json"}, "fl": {"timestamp,original,statuscode"}, "filter": {"!statuscode:[45].."}, "gzip": {"false"},
	}
	if moment == "" {
		params.Set("limit", "-1")
		params.Set("fastLatest", "true")
	} else {
		params.Set("sort", "closest")
		params.Set("closest", moment)
		params.Set("limit", fmt.Sprint(near))
	}
	var rows [][]string
	if err := m.get(ctx, m.index, m.wayback+"/cdx/search/cdx?"+params.Encode(), &rows); err != nil {
		return Copy{}, err
	}
	want, err := stamp(moment)
	if err != nil && moment != "" {
		return Copy{}, err
	}
	var best Copy
	for i, row := range rows {
		if i == 0 || len(row) < 3 { // the first one names the columns
			continue
		}
		when, err := stamp(row[0])
		if err != nil {
			continue
		}
		c := Copy{URL: m.copyURL(row[0], page), Original: egress.Plain(row[1], 2048), Time: when, Status: egress.Plain(row[2], 10), Available: true, Index: true}
		switch {
		case best.URL == "", moment == "" && c.Time.After(best.Time), moment != "" && c.Time.Sub(want).Abs() < best.Time.Sub(want).Abs():
			best = c
		}
	}
	if best.URL == "" {
		return Copy{}, ErrNone
	}
	return best, nil
}

// copyURL returns the address of a copy. That which a service tells is not taken: it
// is a stranger's word for where to go next.
func (m *Machine) copyURL(timestamp, page string) string {
	return m.wayback + "/web/" + timestamp + "/" + page
}

var digits = regexp.MustCompile(`^[0-9]{4,14}$`)

// stamp reads a moment; what is not said is the first.
func stamp(s string) (time.Time, error) {
	const least = "00000101000000"
	if !digits.MatchString(s) {
		return time.Time{}, errors.New("the Wayback Machine answered with a time that is none")
	}
	t, err := time.Parse(stampForm, s+least[len(s):])
	if err != nil {
		return t, errors.New("the Wayback Machine answered with a time that is none")
	}
	return t, nil
}

// get makes one request for JSON.
func (m *Machine) get(ctx context.Context, client *egress.Client, address string, out any) error {
	resp, err := client.Do(ctx, egress.Request{URL: address, MaxBody: maxAnswer, Retry: m.retry, Header: http.Header{"Accept": {"application/json"}}})
	switch {
	case err != nil:
		return err
	case resp.Status == http.StatusTooManyRequests:
		return errors.New("the Wayback Machine has had too many requests from here: try again in a minute")
	case resp.Status == http.StatusForbidden && out != nil:
		return errors.New("the Wayback Machine shows no copies of that site (403), as its owner wishes")
	case !resp.OK():
		return fmt.Errorf("the Wayback Machine answered %d %s", resp.Status, http.StatusText(resp.Status))
	case len(strings.TrimSpace(string(resp.Body))) == 0:
		return nil // the index has no rows
	}
	if err := json.Unmarshal(resp.Body, out); err != nil {
		return errors.New("the Wayback Machine answered with something that is no JSON, or of an unknown form")
	}
	return nil
}
