package searching

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/scrape"
	"github.com/tenon-mcp/tenon/servers/searching/wayback"
)

type archiveIn struct {
	URL   string `json:"url" jsonschema:"address of the page, such as https://example.com/page"`
	Year  int    `json:"year" jsonschema:"year of the copy, 1995 or later; 0 for the newest copy"`
	Month int    `json:"month" jsonschema:"month, 1 to 12; 0 for the newest copy"`
	Day   int    `json:"day" jsonschema:"day of the month"`
}

type archiveOut struct {
	Status      string   `json:"status" jsonschema:"found, unavailable (there is a copy that is not shown) or not_found"`
	OriginalURL string   `json:"original_url" jsonschema:"address that was looked for"`
	Requested   string   `json:"requested_date,omitempty" jsonschema:"day that was looked for; none for the newest copy"`
	URL         string   `json:"archived_url,omitempty" jsonschema:"where the copy can be read"`
	Time        string   `json:"archived_time,omitempty" jsonschema:"when the copy was made, UTC"`
	HTTPStatus  string   `json:"http_status,omitempty" jsonschema:"status with which the site answered then"`
	Notes       []string `json:"notes,omitempty" jsonschema:"what was changed, and what to mind"`
}

func (s *server) addArchive(srv *mcp.Server) {
	add(s, srv, spec{
		name: "search_archived_webpage", title: "Find an archived web page",
		description: "Finds the copy of a web page in the Wayback Machine that is closest to a day, or the newest one (year 0), and returns the address at which it can be read. " +
			"Answers what a page said at some time, or what was on a page that is gone. A day out of range is moved into it, and the answer says so.",
		input: map[string]limits{"url": {longest: 4096}},
	}, s.archived)
}

func (s *server) archived(ctx context.Context, in archiveIn) (string, archiveOut, error) {
	page, notes, err := archivable(in.URL, s.sieve.policy)
	if err != nil {
		return "", archiveOut{}, err
	}
	out := archiveOut{OriginalURL: page}
	moment, head := "", ""
	if in.Year > 0 && in.Month > 0 {
		d := date{year: in.Year, month: in.Month, day: in.Day}
		d.clamp(1995, s.pace.now().UTC())
		moment = fmt.Sprintf("%04d%02d%02d", d.year, d.month, d.day)
		out.Requested = fmt.Sprintf("%04d-%02d-%02d", d.year, d.month, d.day)
		head = d.told(moment)
		out.Notes = d.notes
	}
	for _, n := range notes {
		head += "[NOTE]: " + n + "\n"
	}
	if len(notes) > 0 {
		head += "\n"
	}
	out.Notes = append(out.Notes, notes...)
	found, err := s.archive.Closest(ctx, page, moment)
	if errors.Is(err, wayback.ErrNone) && moment != "" {
		found, err = s.archive.Closest(ctx, page, "") // the service for availability may know one only without a day
	}
	switch {
	case errors.Is(err, wayback.ErrNone):
		out.Status = "not_found"
		return head + "Archive Not Found: No archived versions available.\n\nOriginal URL: " + page + "\n\n" +
			"Check the spelling of the address, try it with or without www or a final /, or try the start page of the site.", out, nil
	case err != nil:
		return "", out, err
	}
	return out.tell(head, found)
}

// archivable reads the address of a page.
func archivable(address string, policy *scrape.Policy) (string, []string, error) {
	page := strings.TrimSpace(address)
	var notes []string
	if page == "" {
		return "", nil, errors.New("invalid URL: it is empty. Give the address of a page, such as https://example.com/page")
	}
	if strings.ContainsFunc(page, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", nil, errors.New("invalid URL: it holds blanks or control characters")
	}
	if !strings.Contains(page, "://") {
		page = "https://" + page
		notes = append(notes, fmt.Sprintf("Automatically added 'https://' to URL '%s' -> '%s'", clean(strings.TrimSpace(address)), clean(page)))
	}
	u, err := url.Parse(page)
	if err != nil || u.Hostname() == "" {
		return "", nil, errors.New("invalid URL: it names no page. Give one such as https://example.com/page")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", nil, fmt.Errorf("invalid URL: pages of %q are not archived, only those of http and https", egress.Plain(u.Scheme, 30))
	}
	if u.User != nil {
		return "", nil, errors.New("invalid URL: it holds a user name before @. Leave that part out")
	}
	if err := policy.Check(page); err != nil {
		return "", nil, err
	}
	if strings.HasSuffix(strings.ToLower(u.Hostname()), ".wikipedia.org") {
		notes = append(notes, "search_wiki_revision finds what a page of Wikipedia was at some time more precisely.")
	}
	return page, notes, nil
}

// tell writes what was found.
func (out archiveOut) tell(head string, found wayback.Copy) (string, archiveOut, error) {
	made := found.Time.UTC()
	out.Time, out.HTTPStatus = made.Format(time.DateTime), found.Status
	var b strings.Builder
	b.WriteString(head)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, clean(value))
		}
	}
	if !found.Available {
		out.Status = "unavailable"
		b.WriteString("Archive Status: Snapshot exists but is not available\n\n")
		line("Original URL", out.OriginalURL)
		line("Requested Date", out.Requested)
		line("Closest Snapshot", out.Time+" UTC")
		b.WriteString("\nAccess to it may be restricted. Try a different date.")
		return b.String(), out, nil
	}
	out.Status, out.URL = "found", clean(found.URL)
	if out.Requested == "" {
		b.WriteString("Archive Found: Most recent archived version\n\n")
	} else {
		b.WriteString("Archive Found: Archived version located\n\n")
	}
	line("Original URL", out.OriginalURL)
	line("Requested Date", out.Requested)
	line("Archived URL", out.URL)
	line("Archived Timestamp", out.Time+" UTC")
	if out.HTTPStatus != "" && !strings.HasPrefix(out.HTTPStatus, "2") {
		out.Notes = append(out.Notes, "the site answered with the status "+out.HTTPStatus+" when the copy was made")
	}
	if want, err := time.Parse(time.DateOnly, out.Requested); err == nil {
		if days := int(made.Sub(want).Abs().Hours() / 24); days > 30 {
			out.Notes = append(out.Notes, fmt.Sprintf("this copy is %d days away from the day that was asked for; there is none closer", days))
		}
	}
	for _, n := range out.Notes {
		if !strings.Contains(head, n) {
			line("Note", n)
		}
	}
	b.WriteString("\n" + hint)
	return b.String(), out, nil
}
