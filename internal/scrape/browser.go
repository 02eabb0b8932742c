package scrape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/proc"
)

// A Browser is a Chromium that reads pages which are made by scripts. For each page it
// gets an empty profile, and a proxy on loopback as its only way out: that resolves
// names, and reaches what the Guard lets through and nothing else, whatever the page
// does. Images are not loaded.
//
// The proxy knows the browser by a word that changes with each page, so that no other
// program of the machine uses it. It does not go by another proxy: where the web is
// reached by one alone, leave the browser out.
type Browser struct {
	Path    string        // of the program
	Spawner *proc.Spawner // nil: one for each page, which ends with it
	Env     []string
	// NoSandbox runs it without its own sandbox, which does not work for root: a page
	// that breaks out of the browser can then do what this process can.
	NoSandbox bool
}

// Bounds on the browser.
const (
	browserTime = 40 * time.Second
	maxDOM      = 8 << 20 // bytes of a page as the browser writes it
)

// FindBrowser returns the path of a Chromium or Chrome in the folders of a PATH, or "".
func FindBrowser(path string) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		for _, dir := range filepath.SplitList(path) {
			if !filepath.IsAbs(dir) {
				continue
			}
			p := filepath.Join(dir, name)
			if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
				return p
			}
		}
	}
	return ""
}

// browser returns the way by a browser.
func (c *Chain) browser() way {
	return way{name: "browser", local: true, fetch: func(ctx context.Context, j job) (found, error) {
		ctx, cancel := context.WithTimeout(ctx, browserTime)
		defer cancel()
		dom, err := c.dump(ctx, j.url)
		if err != nil {
			return found{}, err
		}
		f, err := c.read(ctx, j.url, http.Header{"Content-Type": {"text/html; charset=utf-8"}}, dom, j)
		f.final = j.url
		return f, err
	}}
}

// dump runs the browser until it has written the page.
func (c *Chain) dump(ctx context.Context, address string) ([]byte, error) {
	profile, err := os.MkdirTemp("", "tenon-browser-")
	if err != nil {
		return nil, miss(false, "there is no folder for its profile")
	}
	defer os.RemoveAll(profile)
	out, err := c.newOutlet(ctx)
	if err != nil {
		return nil, miss(false, "its proxy cannot listen on loopback")
	}
	defer out.close()
	b := c.o.Browser
	spawner := b.Spawner
	if spawner == nil {
		spawner = proc.New(proc.Options{})
		defer spawner.Close()
	}
	p, err := spawner.Start(ctx, proc.Command{Path: b.Path, Args: b.arguments(profile, out, address), Env: append([]string{"HOME=" + profile, "XDG_CONFIG_HOME=" + profile, "XDG_CACHE_HOME=" + profile}, b.Env...), Dir: profile})
	if err != nil {
		return nil, miss(false, "%v", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Stdout().SetReadDeadline(time.Unix(1, 0)) }) // wakes the reader
	dom, err := io.ReadAll(io.LimitReader(p.Stdout(), maxDOM))
	stop()
	_ = p.Kill() // what even the kernel cannot end is not ours to end either
	switch {
	case ctx.Err() != nil:
		return nil, &missed{reason: "it did not show the page in time", passing: true, err: ctx.Err()}
	case err != nil && !errors.Is(err, os.ErrClosed):
		return nil, miss(true, "what it shows cannot be read: %v", err)
	case len(dom) == 0:
		return nil, miss(false, "it ended without a page (%s): %s", p.Exit(), egress.Plain(p.Stderr(), 300))
	case !bytes.Contains(dom, []byte(`id="main-frame-error"`)): // its own page for one that it cannot open
		return dom, nil
	}
	refused := out.refused()
	switch {
	case is[*BlockedError](refused):
		return nil, refused
	case refused != nil:
		return nil, &missed{reason: refused.Error(), err: refused}
	}
	return nil, miss(true, "it could not open the page")
}

func (b *Browser) arguments(profile string, out *outlet, address string) []string {
	args := []string{
		"--headless", "--dump-dom", "--user-data-dir=" + profile, "--user-agent=" + out.agent(),
		"--proxy-server=http://" + out.addr(), "--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-default-apps", "--disable-domain-reliability", "--disable-breakpad", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio", "--incognito",
		"--disable-features=DnsOverHttps,AsyncDns,MediaRouter,OptimizationHints,Translate,AutofillServerCommunication,PreconnectToSearch",
		"--blink-settings=imagesEnabled=false", "--deny-permission-prompts", "--virtual-time-budget=10000", fmt.Sprintf("--timeout=%d", (browserTime - 10*time.Second).Milliseconds()),
	}
	if b.NoSandbox {
		args = append(args, "--no-sandbox")
	}
	return append(args, address) // it begins with http, and so is no option
}
