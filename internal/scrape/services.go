package scrape

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// newJina returns the way by a Jina reader.
func newJina(client *egress.Client, base, key string) way {
	j := &jina{client, base, key}
	return way{name: "jina", fetch: j.fetch}
}

type jina struct {
	client    *egress.Client
	base, key string
}

// unloaded is what a reader says of a page that was not ready.
const unloaded = "not yet fully loaded"

func (j *jina) fetch(ctx context.Context, job job) (found, error) {
	f, err := j.once(ctx, job, "")
	if err != nil {
		return f, err
	}
	for _, n := range f.notes {
		if !strings.Contains(n, unloaded) {
			continue
		}
		if more, err := j.once(ctx, job, "60"); err == nil && len(more.text) >= len(f.text) {
			return more, nil
		}
		break
	}
	return f, nil
}

// once asks for a page; patience is how many seconds the reader may wait for it.
func (j *jina) once(ctx context.Context, job job, patience string) (found, error) {
	h := http.Header{
		"Accept": {"application/json"}, "X-Base": {"final"}, "X-Engine": {"browser"}, "X-With-Generated-Alt": {"true"},
		"X-With-Iframe": {"true"}, "X-With-Shadow-Dom": {"true"},
	}
	for name, values := range job.header {
		if strings.HasPrefix(name, "X-") {
			h[name] = values
		}
	}
	if j.key != "" {
		h.Set("Authorization", "Bearer "+j.key)
	}
	if patience != "" {
		h.Set("X-Timeout", patience)
	}
	resp, err := j.client.Do(ctx, egress.Request{URL: j.base + "/" + job.url, Header: h, MaxBody: maxBody})
	if err != nil {
		return found{}, unreached(err)
	}
	if !resp.OK() {
		return found{}, j.refused(resp)
	}
	f, warning, err := readJina(resp)
	if err != nil {
		return found{}, err
	}
	if code, ok := strings.CutPrefix(warning, "Target URL returned error "); ok {
		return found{}, miss(strings.HasPrefix(code, "5"), "the site answered it with %s", egress.Plain(code, 80))
	}
	if warning != "" {
		f.notes = append(f.notes, "the reader warns: "+egress.Plain(warning, 300))
	}
	return f, nil
}

// readJina reads an answer, which is JSON, or of an older reader the text of a page
// below a head.
func readJina(resp *egress.Response) (found, string, error) {
	var answer struct {
		Data *struct {
			Title   string `json:"title"`
			URL     string `json:"url"`
			Content string `json:"content"`
			Warning string `json:"warning"`
		} `json:"data"`
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "application/json" {
		if err := json.Unmarshal(resp.Body, &answer); err != nil || answer.Data == nil {
			return found{}, "", miss(true, "its answer is not the JSON that was expected")
		}
		d := answer.Data
		warning, _, _ := strings.Cut(d.Warning, "\n")
		return found{title: d.Title, text: d.Content, final: d.URL}, warning, nil
	}
	head, text, ok := strings.Cut(string(resp.Body), "Markdown Content:\n")
	if !ok {
		return found{text: string(resp.Body)}, "", nil
	}
	f, warning := found{text: text}, ""
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Title":
			f.title = value
		case "URL Source":
			f.final = value
		case "Warning":
			warning = cmp.Or(warning, value)
		}
	}
	return f, warning, nil
}

func (j *jina) refused(resp *egress.Response) error {
	var e struct {
		Name    string `json:"name"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(resp.Body, &e) // without it the status says enough
	why := egress.Plain(cmp.Or(e.Message, e.Name), 200)
	switch resp.Status {
	case http.StatusPaymentRequired:
		return miss(false, "the account of its key has no balance left (402 %s)", e.Name)
	case http.StatusUnprocessableEntity:
		return miss(false, "it cannot read this address, which may be that of a file (422 %s)", why)
	}
	return statusMiss(resp, why)
}

// statusMiss makes a miss of an answer that tells of a failure.
func statusMiss(resp *egress.Response, why string) error {
	if why != "" {
		why = ": " + why
	}
	switch s := resp.Status; s {
	case http.StatusUnauthorized, http.StatusForbidden:
		return miss(false, "it does not take its key (status %d%s)", s, why)
	case http.StatusPaymentRequired:
		return miss(false, "its account has no credit left (status %d%s)", s, why)
	case http.StatusTooManyRequests:
		wait := ""
		if after := resp.Header.Get("Retry-After"); after != "" {
			wait = ", to be asked again after " + egress.Plain(after, 40)
		}
		return miss(true, "it was asked too often (429%s%s)", wait, why)
	default:
		return miss(s >= 500 && s != http.StatusNotImplemented || s == http.StatusRequestTimeout, "it answered with the status %d%s", s, why)
	}
}

// newSerper returns the way by Serper's scraper.
func newSerper(client *egress.Client, base, key string) way {
	return way{name: "serper scrape", fetch: func(ctx context.Context, job job) (found, error) {
		resp, err := post(ctx, client, base, http.Header{"X-Api-Key": {key}}, map[string]any{"url": job.url, "includeMarkdown": true})
		if err != nil {
			return found{}, err
		}
		var answer struct {
			Text     string         `json:"text"`
			Markdown string         `json:"markdown"`
			Metadata map[string]any `json:"metadata"`
		}
		if err := json.Unmarshal(resp.Body, &answer); err != nil {
			return found{}, miss(true, "its answer is not the JSON that was expected")
		}
		title, _ := answer.Metadata["title"].(string)
		final, _ := answer.Metadata["og:url"].(string)
		return found{title: title, text: cmp.Or(answer.Markdown, answer.Text), final: final}, nil
	}}
}

// newFirecrawl returns the way by Firecrawl.
func newFirecrawl(client *egress.Client, base, key string) way {
	return way{name: "firecrawl", fetch: func(ctx context.Context, job job) (found, error) {
		h := http.Header{}
		if key != "" {
			h.Set("Authorization", "Bearer "+key)
		}
		resp, err := post(ctx, client, base+"/v2/scrape", h, map[string]any{
			"url": job.url, "formats": []string{"markdown"}, "onlyMainContent": true, "skipTlsVerification": false,
		})
		if err != nil {
			return found{}, err
		}
		var answer struct {
			Success bool   `json:"success"`
			Error   string `json:"error"`
			Data    struct {
				Markdown string `json:"markdown"`
				Warning  string `json:"warning"`
				Metadata struct {
					Title      any    `json:"title"`
					URL        string `json:"url"`
					Error      string `json:"error"`
					StatusCode int    `json:"statusCode"`
				} `json:"metadata"`
			} `json:"data"`
		}
		if err := json.Unmarshal(resp.Body, &answer); err != nil {
			return found{}, miss(true, "its answer is not the JSON that was expected")
		}
		m := answer.Data.Metadata
		switch {
		case !answer.Success:
			return found{}, miss(false, "it could not read the page: %s", egress.Plain(answer.Error, 200))
		case m.StatusCode >= 400:
			return found{}, miss(m.StatusCode >= 500, "the site answered it with %d %s", m.StatusCode, egress.Plain(m.Error, 100))
		}
		f := found{text: answer.Data.Markdown, final: m.URL}
		f.title, _ = m.Title.(string)
		if w := answer.Data.Warning; w != "" {
			f.notes = []string{"the reader warns: " + egress.Plain(w, 300)}
		}
		return f, nil
	}}
}

// post sends JSON to a service, and makes a miss of every failure.
func post(ctx context.Context, client *egress.Client, to string, h http.Header, body any) (*egress.Response, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be written: %w", err)
	}
	h.Set("Content-Type", "application/json")
	resp, err := client.Do(ctx, egress.Request{Method: http.MethodPost, URL: to, Header: h, Body: b, MaxBody: maxBody})
	if err != nil {
		return nil, unreached(err)
	}
	if !resp.OK() {
		var e struct {
			Message string `json:"message"`
			Error   string `json:"error"`
		}
		_ = json.Unmarshal(resp.Body, &e) // without it the status says enough
		return nil, statusMiss(resp, egress.Plain(cmp.Or(e.Message, e.Error), 200))
	}
	return resp, nil
}
