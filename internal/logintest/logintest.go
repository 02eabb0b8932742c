// Package logintest is an authorization server and a tool server that wants its
// tokens, for tests. It checks what a client does as strictly as the specifications
// let it, and does on demand what no honest server would.
//
//	d := logintest.New(logintest.Script{Rotate: true})
//	defer d.Close()
//	fmt.Println(d.URL() + "/mcp")
package logintest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Script is what the double does. The zero value is an honest server that
// registers clients and rotates nothing.
type Script struct {
	NoRegistration bool
	Documents      bool   // client IDs may be addresses of metadata documents
	Client, Secret string // a client that is registered beforehand
	// Proof says whether an assertion is that of Client, in place of Secret; nil is none.
	Proof    func(assertion, issuer string) bool
	Iss      string // "" promises none and sends none; "right", "wrong", "missing" and "unpromised"
	Issuer   string // what the metadata says in place of the right one
	Resource string // the same for the tool server
	NoPKCE   bool
	NoDevice bool
	Rotate   bool          // a refresh token is good once, and its reuse ends the login
	Life     time.Duration // of tokens; 0 is an hour
	Scopes   []string      // that the tool server asks for
}

// A Double is both servers, on one port of loopback.
type Double struct {
	Script Script
	http   *httptest.Server

	mu      sync.Mutex
	clients map[string]client
	codes   map[string]grant
	devices map[string]grant
	access  map[string]grant
	refresh map[string]grant
	used    map[string]bool // refresh tokens that were good once
	seen    map[string]int
	sent    []string // values of Authorization at the tool server
}

type client struct {
	secret    string
	redirects []string
}

type grant struct {
	client, redirect, challenge, resource string
	family                                string
	scopes                                []string
	ends                                  time.Time
	polls                                 int
}

// New starts a double. Close it.
func New(s Script) *Double {
	d := &Double{
		Script: s, clients: map[string]client{}, codes: map[string]grant{}, devices: map[string]grant{},
		access: map[string]grant{}, refresh: map[string]grant{}, used: map[string]bool{}, seen: map[string]int{},
	}
	if s.Client != "" {
		d.clients[s.Client] = client{secret: s.Secret}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", d.resource)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server/as", d.metadata)
	mux.HandleFunc("POST /as/register", d.register)
	mux.HandleFunc("GET /as/authorize", d.authorize)
	mux.HandleFunc("POST /as/device", d.device)
	mux.HandleFunc("POST /as/token", d.token)
	mux.HandleFunc("POST /as/revoke", d.revoke)
	mux.HandleFunc("/mcp", d.tools)
	d.http = httptest.NewUnstartedServer(mux)
	d.http.Start() // not before it can be seen by who is asked
	return d
}

// Close ends the double.
func (d *Double) Close() { d.http.Close() }

// URL is where it listens; the tool server is at /mcp.
func (d *Double) URL() string { return d.http.URL }

// Count returns how often something was done: "register", "refresh", "reuse",
// "revoke", "authorize", "client_credentials".
func (d *Double) Count(what string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[what]
}

// Sent returns what the tool server got as Authorization, request by request.
func (d *Double) Sent() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.sent)
}

// EndTokens makes all access tokens worthless, as a restart of the issuer may.
func (d *Double) EndTokens() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.access)
}

// EndLogins makes all refresh tokens worthless too.
func (d *Double) EndLogins() {
	d.EndTokens()
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.refresh)
}

// Ask has the tool server ask for other scopes from now on.
func (d *Double) Ask(scopes ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Script.Scopes = scopes
}

func (d *Double) issuer() string { return d.http.URL + "/as" }

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client sees what is missing
}

func refuse(w http.ResponseWriter, code, why string) {
	answer(w, http.StatusBadRequest, map[string]string{"error": code, "error_description": why})
}

func (d *Double) resource(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{
		"resource": or(d.Script.Resource, d.http.URL+"/mcp"), "authorization_servers": []string{d.issuer()},
		"scopes_supported": d.Script.Scopes,
	})
}

func (d *Double) metadata(w http.ResponseWriter, _ *http.Request) {
	at := d.issuer()
	meta := map[string]any{
		"issuer": or(d.Script.Issuer, at), "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token",
		"revocation_endpoint": at + "/revoke", "response_types_supported": []string{"code"}, "scopes_supported": []string{"read", "write", "offline_access"},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic"},
		"client_id_metadata_document_supported":          d.Script.Documents,
		"authorization_response_iss_parameter_supported": d.Script.Iss != "" && d.Script.Iss != "unpromised",
	}
	if !d.Script.NoPKCE {
		meta["code_challenge_methods_supported"] = []string{"S256"}
	}
	if !d.Script.NoRegistration {
		meta["registration_endpoint"] = at + "/register"
	}
	if !d.Script.NoDevice {
		meta["device_authorization_endpoint"] = at + "/device"
	}
	answer(w, http.StatusOK, meta)
}

func (d *Double) register(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Redirects []string `json:"redirect_uris"`
		Type      string   `json:"application_type"`
	}
	if json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&in) != nil || len(in.Redirects) == 0 || in.Type != "native" {
		refuse(w, "invalid_client_metadata", "redirect_uris and application_type native are wanted")
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen["register"]++
	id := "client-" + rand.Text()
	d.clients[id] = client{redirects: in.Redirects}
	answer(w, http.StatusCreated, map[string]any{"client_id": id, "redirect_uris": in.Redirects, "token_endpoint_auth_method": "none"})
}

// authorize says yes at once, as a person would who is logged in already.
func (d *Double) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen["authorize"]++
	c, known := d.clients[q.Get("client_id")]
	document := d.Script.Documents && strings.HasPrefix(q.Get("client_id"), "https://")
	back, err := url.Parse(q.Get("redirect_uri"))
	switch {
	case !known && !document, known && c.redirects != nil && !slices.Contains(c.redirects, q.Get("redirect_uri")), err != nil:
		http.Error(w, "unknown client, or another redirect address", http.StatusBadRequest)
		return
	case q.Get("code_challenge_method") != "S256", q.Get("code_challenge") == "", q.Get("response_type") != "code", q.Get("state") == "":
		http.Error(w, "PKCE with S256, a state and the response type code are wanted", http.StatusBadRequest)
		return
	case q.Get("resource") != d.http.URL+"/mcp":
		http.Error(w, "the resource is not the tool server", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	d.codes[code] = grant{
		client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"), resource: q.Get("resource"),
		scopes: strings.Fields(q.Get("scope")), ends: time.Now().Add(time.Minute), family: rand.Text(),
	}
	out := url.Values{"code": {code}, "state": {q.Get("state")}}
	switch d.Script.Iss {
	case "right", "unpromised":
		out.Set("iss", d.issuer())
	case "wrong":
		out.Set("iss", "https://evil.example")
	}
	back.RawQuery = out.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (d *Double) device(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.clients[r.FormValue("client_id")]; !ok || r.FormValue("resource") != d.http.URL+"/mcp" {
		refuse(w, "invalid_client", "")
		return
	}
	code := rand.Text()
	d.devices[code] = grant{
		client: r.FormValue("client_id"), resource: r.FormValue("resource"), scopes: strings.Fields(r.FormValue("scope")),
		ends: time.Now().Add(time.Minute), family: rand.Text(),
	}
	answer(w, http.StatusOK, map[string]any{
		"device_code": code, "user_code": "WDJB-MJHT", "verification_uri": d.issuer() + "/enter", "expires_in": 60, "interval": 1,
	})
}

// caller returns the client that asks for a token.
func (d *Double) caller(r *http.Request) (string, bool) {
	id, secret, basic := r.BasicAuth()
	if basic {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	if d.Script.Documents && strings.HasPrefix(id, "https://") {
		return id, true
	}
	if d.Script.Proof != nil && id == d.Script.Client {
		return id, secret == "" && !basic && r.FormValue("client_assertion_type") == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" &&
			d.Script.Proof(r.FormValue("client_assertion"), d.issuer())
	}
	c, ok := d.clients[id]
	return id, ok && c.secret == secret
}

func (d *Double) token(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, ok := d.caller(r)
	switch {
	case !ok:
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	case r.FormValue("resource") != d.http.URL+"/mcp":
		refuse(w, "invalid_target", "the resource is not the tool server")
		return
	}
	switch r.FormValue("grant_type") {
	case "authorization_code":
		code := r.FormValue("code")
		g, ok := d.codes[code]
		delete(d.codes, code)
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if !ok || g.client != id || g.redirect != r.FormValue("redirect_uri") || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || time.Now().After(g.ends) {
			refuse(w, "invalid_grant", "code, redirect address or verifier")
			return
		}
		d.give(w, g)
	case "refresh_token":
		d.again(w, id, r.FormValue("refresh_token"))
	case "client_credentials":
		d.seen["client_credentials"]++
		d.give(w, grant{client: id, resource: r.FormValue("resource"), scopes: strings.Fields(r.FormValue("scope"))})
	case "urn:ietf:params:oauth:grant-type:device_code":
		g, ok := d.devices[r.FormValue("device_code")]
		g.polls++
		switch {
		case !ok || g.client != id:
			refuse(w, "invalid_grant", "")
		case g.polls == 1:
			d.devices[r.FormValue("device_code")] = g
			refuse(w, "authorization_pending", "")
		default:
			delete(d.devices, r.FormValue("device_code"))
			d.give(w, g)
		}
	default:
		refuse(w, "unsupported_grant_type", "")
	}
}

// again answers a refresh token. One that comes twice was stolen from somebody.
func (d *Double) again(w http.ResponseWriter, id, token string) {
	d.seen["refresh"]++
	g, ok := d.refresh[token]
	if d.used[token] {
		d.seen["reuse"]++
		for t, other := range d.refresh {
			if other.family == g.family {
				delete(d.refresh, t)
			}
		}
		ok = false
	}
	if !ok || g.client != id {
		refuse(w, "invalid_grant", "the refresh token is not good any more")
		return
	}
	if d.Script.Rotate {
		d.used[token] = true
	}
	d.give(w, g)
}

func (d *Double) give(w http.ResponseWriter, g grant) {
	life := d.Script.Life
	if life == 0 {
		life = time.Hour
	}
	g.ends = time.Now().Add(life)
	access := "access-" + rand.Text()
	d.access[access] = g
	out := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": max(1, int(life.Seconds())), "scope": strings.Join(g.scopes, " ")}
	if g.family != "" {
		refresh := "refresh-" + rand.Text()
		d.refresh[refresh] = g
		out["refresh_token"] = refresh
	}
	answer(w, http.StatusOK, out)
}

func (d *Double) revoke(_ http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen["revoke"]++
	delete(d.access, r.FormValue("token"))
	delete(d.refresh, r.FormValue("token"))
}

// tools is a tool server with one tool, whoami, for those with a token.
func (d *Double) tools(w http.ResponseWriter, r *http.Request) {
	if !d.admit(w, r) {
		return
	}
	var in struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Version string `json:"protocolVersion"`
		} `json:"params"`
	}
	if r.Method != http.MethodPost || json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&in) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if in.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	results := map[string]any{
		"initialize": map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]string{"name": "double", "version": "1"},
		},
		"ping": map[string]any{},
		"tools/list": map[string]any{"tools": []any{map[string]any{
			"name": "whoami", "description": "Say who calls.", "inputSchema": map[string]any{"type": "object"},
			"annotations": map[string]any{"readOnlyHint": true},
		}}},
		"tools/call": map[string]any{"content": []any{map[string]string{"type": "text", "text": "logged in"}}},
	}
	if result, ok := results[in.Method]; ok {
		answer(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": in.ID, "result": result})
		return
	}
	answer(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": in.ID, "error": map[string]any{"code": -32601, "message": "no such method"}})
}

// admit lets requests in whose token is good, is for this server, and allows enough.
func (d *Double) admit(w http.ResponseWriter, r *http.Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent = append(d.sent, r.Header.Get("Authorization"))
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	g, ok := d.access[token]
	about := fmt.Sprintf("Bearer resource_metadata=%q", d.http.URL+"/.well-known/oauth-protected-resource/mcp")
	if len(d.Script.Scopes) > 0 {
		about += fmt.Sprintf(", scope=%q", strings.Join(d.Script.Scopes, " "))
	}
	if !bearer || !ok || time.Now().After(g.ends) || g.resource != d.http.URL+"/mcp" {
		w.Header().Set("WWW-Authenticate", about)
		http.Error(w, "log in first", http.StatusUnauthorized)
		return false
	}
	for _, s := range d.Script.Scopes {
		if !slices.Contains(g.scopes, s) {
			w.Header().Set("WWW-Authenticate", about+`, error="insufficient_scope"`)
			http.Error(w, "not with this token", http.StatusForbidden)
			return false
		}
	}
	return true
}
