package searching

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/servers/searching/wiki"
)

type revisionsIn struct {
	Entity   string `json:"entity" jsonschema:"title of the page, or its address"`
	Year     int    `json:"year" jsonschema:"year of the revisions, 2000 or later"`
	Month    int    `json:"month" jsonschema:"month of the revisions, 1 to 12"`
	Max      int    `json:"max_revisions,omitempty" jsonschema:"how many revisions, the oldest first"`
	Language string `json:"language,omitempty" jsonschema:"code of the language edition; default: that of the address, else en"`
}

type revisionsOut struct {
	Status      string     `json:"status" jsonschema:"found, none (the page was not edited then) or not_found (see suggestions)"`
	Title       string     `json:"title" jsonschema:"title of the page"`
	Language    string     `json:"language" jsonschema:"language edition"`
	Period      string     `json:"period" jsonschema:"year and month that were looked at"`
	Revisions   []revision `json:"revisions" jsonschema:"what the page was then, the oldest first"`
	More        bool       `json:"more,omitempty" jsonschema:"there are more in that month"`
	Notes       []string   `json:"notes,omitempty" jsonschema:"what was changed or left out"`
	Suggestions []string   `json:"suggestions,omitempty" jsonschema:"titles that come near"`
}

type revision struct {
	ID   int64  `json:"id" jsonschema:"number of the revision"`
	Time string `json:"time" jsonschema:"when it was made, UTC"`
	URL  string `json:"url" jsonschema:"where the page can be read as it was"`
}

// hint ends answers that lead to pages.
const hint = "Read a page with scrape_website."

func (s *server) addWikiRevisions(srv *mcp.Server) {
	add(s, srv, spec{
		name: "search_wiki_revision", title: "Revisions of a Wikipedia page",
		description: "Returns the revisions of a page of Wikipedia in one month, each with the address at which the page can be read as it was then. " +
			"Answers what Wikipedia said at some time. A year or month out of range is moved into it, and the answer says so.",
		input: map[string]limits{
			"entity": {longest: 1000}, "max_revisions": {usual: 50, min: 1, max: wiki.MaxRevisions}, "language": {longest: 40},
		},
	}, s.wikiRevisions)
}

func (s *server) wikiRevisions(ctx context.Context, in revisionsIn) (string, revisionsOut, error) {
	d := date{year: in.Year, month: in.Month, day: 1}
	d.clamp(2000, s.pace.now().UTC())
	from := time.Date(d.year, time.Month(d.month), 1, 0, 0, 0, 0, time.UTC)
	period := from.Format("2006-01")
	out := revisionsOut{Status: "found", Period: period, Revisions: []revision{}, Notes: d.notes}
	head := d.told(period)
	history, err := s.wiki.Revisions(ctx, wiki.Ask{Language: in.Language, Title: in.Entity}, from, from.AddDate(0, 1, 0).Add(-time.Second), in.Max)
	if missing, ok := errors.AsType[*wiki.NotFoundError](err); ok {
		t, page, err := notFound(in.Entity, missing)
		out.Status, out.Title, out.Language, out.Suggestions = "not_found", page.Title, page.Language, page.Suggestions
		return head + t, out, err
	}
	if err != nil {
		return "", out, err
	}
	out.Title, out.Language, out.More = clean(history.Title), history.Language, history.More
	if len(history.Revisions) == 0 {
		out.Status = "none"
		return head + fmt.Sprintf("Page Title: %s\n\nNo revisions found for '%s' in %s: the page was not edited then, or did not exist yet. "+
			"Try an earlier month for the state it had.", out.Title, clean(in.Entity), period), out, nil
	}
	t := out.list(head, history)
	return t, out, nil
}

// list writes the revisions, as many as there is room for.
func (out *revisionsOut) list(head string, history wiki.History) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%sPage Title: %s\nRevision Period: %s\nTotal Revisions Found: %d\n\nRevisions:\n", head, out.Title, out.Period, len(history.Revisions))
	chars := len([]rune(b.String()))
	for i, r := range history.Revisions {
		made := r.Time.UTC().Format(time.DateTime)
		line := fmt.Sprintf("%d. Revision ID: %d\n   Timestamp: %s UTC\n   URL: %s\n", i+1, r.ID, made, r.URL)
		if chars += len([]rune(line)); chars > wikiChars-500 {
			note := fmt.Sprintf("%d more of those found are left out for the length of the answer", len(history.Revisions)-i)
			out.Notes = append(out.Notes, note)
			b.WriteString("… " + note + ".\n")
			break
		}
		out.Revisions = append(out.Revisions, revision{r.ID, made, r.URL})
		b.WriteString(line)
	}
	if out.More {
		fmt.Fprintf(&b, "There are more in this month: at most %d are returned at once (max_revisions).\n", wiki.MaxRevisions)
	}
	b.WriteString("\n" + hint)
	return b.String()
}
