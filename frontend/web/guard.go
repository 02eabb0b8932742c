package web

import (
	"encoding/json"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// A guard lets through only requests that were meant for this server: named as
// it is named, and not sent by a foreign web page.
type guard struct {
	addr    string   // that the server listens on
	all     bool     // it listens on all addresses of this machine
	port    string   // of addr
	allowed []string // further hosts, with or without a port
	log     *slog.Logger
}

// check returns a handler that asks the guard before next.
func (g guard) check(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-Content-Type-Options"] = nosniff
		if why := g.refusal(r); why != "" {
			g.log.Warn("request refused", "reason", why, "host", r.Host, "origin", r.Header.Get("Origin"), "path", r.URL.Path)
			w.Header().Set("Connection", "close") // else the server would read the whole body first
			reply(w, http.StatusForbidden, map[string]string{"error": why, "error_kind": "denied"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

var nosniff = []string{"nosniff"}

// refusal says why r must not pass, or nothing.
func (g guard) refusal(r *http.Request) string {
	if !g.hostAllowed(r.Host) && !g.reached(r) {
		return "host " + strconv.Quote(r.Host) + " is not a name of this server; use localhost or 127.0.0.1 with port " +
			g.port + ", or list the host under gateway.allowed_hosts"
	}
	origins := r.Header["Origin"]
	for _, o := range origins {
		if !g.originAllowed(o) {
			return "origin " + strconv.Quote(o) + " may not use this server; list its host under gateway.allowed_hosts"
		}
	}
	if len(origins) > 0 && r.ContentLength != 0 && !isJSON(r.Header.Get("Content-Type")) {
		return "a web page has to send JSON, with Content-Type: application/json" // for that a browser asks first
	}
	// Browsers leave Origin out of some requests of foreign pages (images, scripts,
	// simple fetches), but say where they come from. A link to a page is no harm.
	if len(origins) == 0 && r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return "a web page of another site may not use this server"
	}
	return ""
}

func isJSON(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && t == "application/json"
}

func (g guard) hostAllowed(hostport string) bool {
	if hostport == g.addr { // the usual case
		return true
	}
	host, port := split(hostport)
	if loopback(host) && (port == g.port || port == "" && g.port == "80") {
		return true
	}
	return g.listed(host, port)
}

// reached reports whether r is named by the very address that it came to, where the
// server listens on all. No page can point a name of its own there: this is none.
func (g guard) reached(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return g.all && ok && local.String() == r.Host
}

func (g guard) originAllowed(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false // "null", a file, an extension
	}
	host, port := split(u.Host)
	return loopback(host) || g.listed(host, port)
}

func (g guard) listed(host, port string) bool {
	for _, a := range g.allowed {
		h, p := split(a)
		if host != "" && h == host && (p == "" || p == port) {
			return true
		}
	}
	return false
}

// split parts a host from its port, if any, and brings the host to one form:
// lower case, no brackets, no final dot.
func split(hostport string) (host, port string) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		host, port = hostport, ""
	}
	host = strings.TrimPrefix(strings.TrimSuffix(host, "]"), "[")
	return strings.ToLower(strings.TrimSuffix(host, ".")), port
}

// loopback reports whether host is localhost or a literal loopback address. Any
// other name may be pointed at 127.0.0.1 by whoever owns it.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// reply answers with a small JSON object.
func reply(w http.ResponseWriter, status int, body map[string]string) {
	b, _ := json.Marshal(body) // a map of strings always marshals
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that is gone needs no answer
}
