package doubles

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Wayback stands in for archive.org (GET /wayback/available) and for web.archive.org
// (GET /cdx/search/cdx, and the copies below /web/). It has copies of the pages of the
// web in June 2015 and in January 2021; of one page only the index knows.
func Wayback(web *Web) *Double {
	return newDouble("wayback", func(w http.ResponseWriter, c Call, f Fault) {
		switch {
		case c.Method != http.MethodGet:
			replyHTML(w, http.StatusMethodNotAllowed, "<p>Method not allowed</p>")
		case c.Path == "/wayback/available":
			waybackAvailable(web, w, c.Query, f)
		case c.Path == "/cdx/search/cdx":
			waybackIndex(web, w, c.Query, f)
		case strings.HasPrefix(c.Path, "/web/"):
			waybackCopy(web, w, c)
		default:
			replyHTML(w, http.StatusNotFound, "<p>Not found</p>")
		}
	}, func(w http.ResponseWriter, f Fault) {
		replyHTML(w, f.Status, "<html><body><h1>"+http.StatusText(f.Status)+"</h1></body></html>")
	})
}

// The times of the copies, and the pages that behave in a way of their own.
var waybackTimes = []string{"20150612080910", "20210103235959"}

const (
	// IndexOnly is archived, but only the index says so.
	IndexOnly = "http://blog.example/2024/tides"
	// Withheld is archived, but is not shown.
	Withheld = "http://short.example/note"
)

// waybackTimesOf returns the times at which a page was archived.
func waybackTimesOf(web *Web, page string) []string {
	if !strings.Contains(page, "://") {
		page = "http://" + page
	}
	if p, ok := web.Find(page); !ok || p.Forward != "" {
		return nil
	}
	return waybackTimes
}

func waybackAvailable(web *Web, w http.ResponseWriter, query url.Values, f Fault) {
	page, stamp := query.Get("url"), query.Get("timestamp")
	if page == "" {
		replyHTML(w, http.StatusBadRequest, "<p>url is missing</p>")
		return
	}
	answer := object{"url": page, "archived_snapshots": object{}}
	if stamp != "" {
		answer["timestamp"] = stamp
	}
	times := waybackTimesOf(web, page)
	if p, _ := web.Find(page); len(times) > 0 && !f.Empty && p.URL != IndexOnly {
		best := closest(times, defaulted(stamp, "99999999"))
		answer["archived_snapshots"] = object{"closest": object{
			"status": "200", "available": p.URL != Withheld, "url": "http://web.archive.org/web/" + best + "/" + page, "timestamp": best,
		}}
	}
	reply(w, http.StatusOK, answer)
}

// closest returns the time that is closest to a stamp of 1 to 14 digits.
func closest(times []string, stamp string) string {
	if stamp >= "9999" {
		return times[len(times)-1]
	}
	const least = "00010101000000"
	stamp += least[min(len(stamp), 14):]
	want, err := time.Parse("20060102150405", stamp)
	if err != nil {
		return times[len(times)-1]
	}
	return slices.MinFunc(times, func(a, b string) int {
		x, _ := time.Parse("20060102150405", a)
		y, _ := time.Parse("20060102150405", b)
		return int((x.Sub(want).Abs() - y.Sub(want).Abs()) / time.Second)
	})
}

var stampDigits = regexp.MustCompile(`^[0-9]{1,14}$`)

// waybackFields are those of the index, in its order.
var waybackFields = []string{"urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"}

// waybackKey returns an address as the index sorts it: its host from the end on.
func waybackKey(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return page
	}
	labels := strings.Split(u.Hostname(), ".")
	slices.Reverse(labels)
	return strings.Join(labels, ",") + ")" + defaulted(u.Path, "/")
}

func waybackIndex(web *Web, w http.ResponseWriter, query url.Values, f Fault) {
	for name := range query {
		known := []string{"url", "matchType", "output", "fl", "from", "to", "filter", "collapse", "limit", "fastLatest", "offset", "gzip", "sort", "closest"}
		if !slices.Contains(known, name) {
			replyHTML(w, http.StatusBadRequest, "unknown parameter "+name)
			return
		}
	}
	page, limit := query.Get("url"), 0
	var err error
	if v := query.Get("limit"); v != "" {
		limit, err = strconv.Atoi(v)
	}
	fields := waybackFields
	if fl := query.Get("fl"); fl != "" {
		fields = strings.Split(fl, ",")
	}
	unknown := slices.ContainsFunc(fields, func(name string) bool { return !slices.Contains(waybackFields, name) })
	sorted := query.Get("sort") == "closest"
	if page == "" || err != nil || unknown || sorted && !stampDigits.MatchString(query.Get("closest")) {
		replyHTML(w, http.StatusBadRequest, "org.archive.wayback.exception.BadQueryException")
		return
	}
	var rows [][]string
	for _, stamp := range waybackTimesOf(web, page) {
		row := map[string]string{"urlkey": waybackKey(page), "timestamp": stamp, "original": page, "mimetype": "text/html", "statuscode": "200", "digest": "NOREALDIGESTOFAPAGEAAAAAAAAAAAA2", "length": "1000"}
		if f.Empty || !waybackPasses(row, query["filter"]) {
			continue
		}
		var line []string
		for _, name := range fields {
			line = append(line, row[name])
		}
		rows = append(rows, line)
	}
	if limit < 0 {
		rows = rows[max(len(rows)+limit, 0):]
	} else if limit > 0 {
		rows = rows[:min(limit, len(rows))]
	}
	if query.Get("output") == "json" {
		out := [][]string{}
		if len(rows) > 0 {
			out = append([][]string{fields}, rows...)
		}
		reply(w, http.StatusOK, out)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	for _, row := range rows {
		_, _ = w.Write([]byte(strings.Join(row, " ") + "\n"))
	}
}

// waybackPasses reports whether a row passes filters as [!]field:regex.
func waybackPasses(row map[string]string, filters []string) bool {
	for _, f := range filters {
		pattern, not := strings.CutPrefix(f, "!")
		field, expression, _ := strings.Cut(pattern, ":")
		re, err := regexp.Compile("^(?:" + expression + ")$")
		if err != nil || re.MatchString(row[field]) == not {
			return false
		}
	}
	return true
}

func waybackCopy(web *Web, w http.ResponseWriter, c Call) {
	rest := strings.TrimPrefix(c.Path, "/web/")
	stamp, page, _ := strings.Cut(rest, "/")
	if encoded := c.Query.Encode(); encoded != "" {
		page += "?" + encoded
	}
	p, ok := web.Find(page)
	if !ok || !stampDigits.MatchString(strings.TrimSuffix(stamp, "id_")) {
		replyHTML(w, http.StatusNotFound, "<p>The Wayback Machine has not archived that URL.</p>")
		return
	}
	replyHTML(w, http.StatusOK, p.HTML())
}
