package reading

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/scrape"
	"github.com/tenon-mcp/tenon/servers/reading/media"
)

const maxPage = 10 << 20 // bytes of a page that is looked into for films and recordings

// remote gets what lies at an address.
func (j *job) remote(ctx context.Context, address string) error {
	if err := j.s.ways.Policy().Check(address); err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("the address is no valid URL")
	}
	if id := videoID(u); id != "" {
		return j.video(ctx, id)
	}
	resp, err := j.get(ctx, address)
	if err == nil && !resp.OK() {
		err = &statusError{resp.Status}
	}
	if err != nil {
		return j.fallback(ctx, address, err)
	}
	j.final = resp.URL
	kind := resp.Header.Get("Content-Type")
	j.src.Name, j.src.MIME, j.src.URL = fileName(resp), kind, resp.URL
	if !isPage(kind) {
		return nil
	}
	if j.src.Size > maxPage {
		j.note("the page has more than %d MiB: it was not looked into for films and recordings", maxPage>>20)
		return nil
	}
	if j.s.readers() && j.poor(ctx) {
		if j.fallback(ctx, address, errors.New("the page as it was downloaded holds next to no text")) == nil {
			return nil
		}
	}
	return j.mediaPage(ctx, kind)
}

// A statusError is the error for a status that is no success.
type statusError struct{ status int }

func (e *statusError) Error() string {
	switch s := e.status; {
	case s == http.StatusNotFound || s == http.StatusGone:
		return fmt.Sprintf("there is nothing at that address (status %d): check it, or look for an archived copy with search_archived_webpage", s)
	case s == http.StatusUnauthorized || s == http.StatusForbidden || s == http.StatusPaymentRequired:
		return fmt.Sprintf("the site does not give it to programs, or wants a login (status %d)", s)
	case s == http.StatusTooManyRequests:
		return "the site was asked too often (status 429): try again later"
	case s >= 300 && s <= 399:
		return fmt.Sprintf("the site answered with the status %d and no address to go on to", s)
	default:
		return fmt.Sprintf("the site answered with the status %d", s)
	}
}

// final reports whether another way to the same address would meet the same.
func final(err error) bool {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status == http.StatusNotFound || e.status == http.StatusGone
	}
	return is[*egress.Refusal](err) || is[*egress.URLError](err) || is[*egress.HostError](err) || is[*egress.SizeError](err) || is[*scrape.BlockedError](err)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// get downloads to a file that is gone when the call ends. A download that breaks off
// is begun anew, as one that cannot begin is.
func (j *job) get(ctx context.Context, address string) (*egress.Response, error) {
	if deadline, ok := ctx.Deadline(); ok && j.s.readers() { // the readers want some of the time
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	f, err := j.tempFile()
	if err != nil {
		return nil, err
	}
	for waits := j.s.waits; ; {
		resp, err := j.fill(ctx, f, address, waits)
		if resp == nil || err == nil || is[*egress.SizeError](err) || is[*diskError](err) {
			return resp, err
		}
		waits = waits[min(max(resp.Attempts-1, 0), len(waits)):]
		if deadline, ok := ctx.Deadline(); len(waits) == 0 || ok && time.Until(deadline) <= waits[0] {
			return nil, err
		}
		if !sleep(ctx, waits[0]) {
			return nil, err
		}
		waits = waits[1:]
	}
}

// fill downloads into f. Where there is an answer that broke off, it returns both.
func (j *job) fill(ctx context.Context, f *os.File, address string, waits []time.Duration) (*egress.Response, error) {
	resp, body, err := j.s.pages.Open(ctx, egress.Request{
		URL: address, Robots: true, Refuse: j.s.ways.Policy().Check, Retry: egress.Retry{Waits: waits},
		Header: http.Header{"Accept": {"text/html,application/xhtml+xml,application/pdf;q=0.9,*/*;q=0.8"}, "Accept-Language": {"en,*;q=0.5"}},
	})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if !resp.OK() {
		return resp, nil
	}
	w := &diskWriter{w: io.NewOffsetWriter(f, 0)}
	n, err := io.Copy(w, body)
	switch {
	case w.err != nil:
		return resp, &diskError{w.err}
	case err != nil:
		return resp, egress.Reason(hostOf(resp.URL), err)
	}
	j.src = document.Source{Data: io.NewSectionReader(f, 0, n), Size: n}
	return resp, nil
}

// A diskError is the error for a download that could not be kept.
type diskError struct{ err error }

func (e *diskError) Error() string {
	return "the download could not be kept on this machine's disk: " + e.err.Error()
}
func (e *diskError) Unwrap() error { return e.err }

type diskWriter struct {
	w   io.Writer
	err error
}

func (d *diskWriter) Write(p []byte) (int, error) {
	n, err := d.w.Write(p)
	d.err = err
	return n, err
}

// tempFile returns a file for a download. Where the system can, it has no name from
// now on, so that nothing of it is left even if this process is killed.
func (j *job) tempFile() (*os.File, error) {
	f, err := os.CreateTemp(j.s.temp, "tenon-reading-*")
	if err != nil {
		return nil, &diskError{err}
	}
	unnamed := os.Remove(f.Name()) == nil
	j.closers = append(j.closers, func() {
		_ = f.Close() // it is thrown away
		if !unnamed {
			_ = os.Remove(f.Name()) // where that fails, the system's own cleaning is left
		}
	})
	return f, nil
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the host"
	}
	return egress.Plain(u.Host, 120)
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// fallback asks the services that read pages, where there are some and it is of use.
func (j *job) fallback(ctx context.Context, address string, cause error) error {
	switch {
	case ctx.Err() != nil, final(cause):
		return cause
	case !j.s.readers():
		return fmt.Errorf("%w. No other way to read pages is set up (options jina_api_key, jina_base_url, serper_api_key, firecrawl_api_key, browser)", cause)
	}
	page, err := j.ask(ctx, address)
	if err != nil {
		return fmt.Errorf("%w. Nor did other ways help: %w", cause, err)
	}
	j.note("read by way of %s, as scrape_website would, for the download was of no use: %s", page.Via, cause)
	j.final, j.title, j.plain = page.Final, page.Title, true
	return nil
}

// ask reads a page by the services that do that, and takes its text.
func (j *job) ask(ctx context.Context, address string) (*scrape.Page, error) {
	chain, err := j.s.chain(j.convert)
	if err != nil {
		return nil, err
	}
	page, err := chain.Fetch(ctx, scrape.Request{URL: address, Pages: j.in.Pages})
	if err != nil {
		return nil, err
	}
	for _, n := range page.Notes {
		j.note("%s", n)
	}
	j.src = document.Source{Name: "page.md", MIME: "text/markdown", URL: page.Final, Data: strings.NewReader(page.Text), Size: int64(len(page.Text))}
	return page, nil
}

// poor reports whether a page as it was downloaded is none that is worth reading: it
// keeps programs away, or is made by its scripts.
func (j *job) poor(ctx context.Context) bool {
	doc, err := j.convert.Convert(ctx, j.src, document.Request{MaxChars: 8000})
	return err == nil && (scrape.Challenge(doc.Markdown) || len(strings.Fields(doc.Markdown)) < 20)
}

func isPage(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "text/html" || kind == "application/xhtml+xml")
}

// mediaPage looks what a page says of a film or recording that it is for.
func (j *job) mediaPage(ctx context.Context, contentType string) error {
	page, err := j.src.Bytes(maxPage)
	if err != nil {
		return err
	}
	v := media.Page(page, contentType)
	if v == nil {
		return nil
	}
	var cues []media.Cue
	if t, ok := v.Best(); ok {
		if at, err := resolve(j.src.URL, t.URL); err == nil {
			cues, err = j.captions(ctx, j.s.pages, at)
			if err != nil {
				j.note("the captions %q could not be read: %s", t.String(), err)
			}
		}
	}
	j.head = v.Markdown(cues) + "\n\n## The page"
	return nil
}

func resolve(base, ref string) (string, error) {
	b, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	u, err := b.Parse(ref)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// captions gets and reads captions.
func (j *job) captions(ctx context.Context, from *egress.Client, at string) ([]media.Cue, error) {
	resp, err := from.Do(ctx, egress.Request{URL: at, MaxBody: maxPage, Refuse: j.s.ways.Policy().Check, Retry: egress.Retry{Waits: j.s.waits[:min(1, len(j.s.waits))]}})
	if err != nil {
		return nil, err
	}
	if !resp.OK() {
		return nil, &statusError{resp.Status}
	}
	if len(resp.Body) == 0 {
		return nil, errNoCaptions
	}
	cues := media.Cues(resp.Body)
	if len(cues) == 0 {
		return nil, errors.New("they are in no form that is known")
	}
	return cues, nil
}

var errNoCaptions = errors.New("the site gave an empty answer")

// fileName returns the name of a file that was downloaded, without what stands behind
// it in its address.
func fileName(resp *egress.Response) string {
	name := ""
	if _, p, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil {
		name = p["filename"]
	}
	if u, err := url.Parse(resp.URL); err == nil && name == "" {
		name = path.Base(u.Path)
	}
	if name = egress.Plain(path.Base(strings.ReplaceAll(name, `\`, "/")), 200); slices.Contains([]string{"/", "."}, name) {
		return ""
	}
	return name
}
