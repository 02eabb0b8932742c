package doubles

import (
	"net/http"
	"slices"
	"strings"
)

// Serper stands in for google.serper.dev (POST /search and /news) and for
// scrape.serper.dev (POST / and /scrape).
func Serper(web *Web) *Double {
	return newDouble("serper", func(w http.ResponseWriter, c Call, f Fault) { serveSerper(web, w, c, f) }, func(w http.ResponseWriter, f Fault) {
		message := map[int]string{401: "Unauthorized.", 402: "Not enough credits", 403: "Unauthorized.", 429: "Too many requests"}[f.Status]
		if message == "" {
			message = http.StatusText(f.Status)
		}
		serperError(w, f.Status, message)
	})
}

func serperError(w http.ResponseWriter, status int, message string) {
	reply(w, status, object{"message": message, "statusCode": status})
}

// A serperQuery is what a search may hold.
type serperQuery struct {
	Q           string `json:"q"`
	GL          string `json:"gl"`
	HL          string `json:"hl"`
	Location    string `json:"location"`
	Num         int    `json:"num"`
	Page        int    `json:"page"`
	TBS         string `json:"tbs"`
	Autocorrect *bool  `json:"autocorrect"`
	URL         string `json:"url"`
	Markdown    bool   `json:"includeMarkdown"`
}

func serveSerper(web *Web, w http.ResponseWriter, c Call, f Fault) {
	var in serperQuery
	switch {
	case c.Header.Get("X-Api-Key") != Key:
		serperError(w, 403, "Unauthorized.")
	case c.Method != http.MethodPost:
		serperError(w, 405, "Method Not Allowed")
	case !c.JSON(&in):
		serperError(w, 400, "Invalid JSON")
	case c.Path == "/search" || c.Path == "/news":
		serperSearch(web, w, c, in, f)
	case c.Path == "/" || c.Path == "/scrape":
		serperScrape(web, w, in, f)
	default:
		serperError(w, 404, "Not Found")
	}
}

func serperSearch(web *Web, w http.ResponseWriter, c Call, in serperQuery, f Fault) {
	if strings.TrimSpace(in.Q) == "" {
		serperError(w, 400, "Missing query parameter")
		return
	}
	if in.Num == 0 {
		in.Num = 10
	}
	if in.Num < 0 || in.Num > 100 || in.TBS != "" && !slices.Contains([]string{"qdr:h", "qdr:d", "qdr:w", "qdr:m", "qdr:y"}, in.TBS) {
		serperError(w, 400, "Invalid parameter")
		return
	}
	in.Page = max(in.Page, 1)
	found := slice(web.Search(in.Q), (in.Page-1)*in.Num, in.Num)
	if f.Empty {
		found = nil
	}
	parameters := object{"q": in.Q, "gl": in.GL, "hl": in.HL, "num": in.Num, "page": in.Page, "autocorrect": in.Autocorrect == nil || *in.Autocorrect, "type": strings.TrimPrefix(c.Path, "/"), "engine": "google"}
	if in.TBS != "" {
		parameters["tbs"] = in.TBS
	}
	if in.Location != "" {
		parameters["location"] = in.Location
	}
	items := []object{}
	for i, p := range found {
		items = append(items, object{"title": p.Title, "link": p.URL, "snippet": p.Snippet(), "date": p.Date, "position": i + 1})
	}
	answer := object{"searchParameters": parameters, "credits": 1}
	if c.Path == "/news" {
		answer["news"] = items
		reply(w, 200, answer)
		return
	}
	answer["organic"] = items
	if len(found) > 0 && in.Page == 1 {
		p := found[0]
		answer["knowledgeGraph"] = object{"title": p.Title, "type": "Page", "description": p.Snippet(), "descriptionSource": "example", "descriptionLink": p.URL, "attributes": object{}}
		answer["answerBox"] = object{"title": p.Title, "snippet": p.Snippet(), "link": p.URL}
		answer["peopleAlsoAsk"] = []object{{"question": "What is known of " + in.Q + "?", "snippet": p.Snippet(), "title": p.Title, "link": p.URL}}
		answer["relatedSearches"] = []object{{"query": in.Q + " history"}}
	}
	reply(w, 200, answer)
}

func serperScrape(web *Web, w http.ResponseWriter, in serperQuery, f Fault) {
	p, ok := web.Find(in.URL)
	switch {
	case in.URL == "":
		serperError(w, 400, "Missing url parameter")
		return
	case !ok:
		serperError(w, 500, "Scrape failed")
		return
	}
	text := strings.Join(p.Text, "\n")
	if f.Empty {
		text = ""
	}
	answer := object{"text": text, "metadata": object{"title": p.Title, "og:url": p.URL}, "jsonld": object{}, "credits": 2}
	if in.Markdown && !f.Empty {
		answer["markdown"] = p.Markdown()
	}
	reply(w, 200, answer)
}
