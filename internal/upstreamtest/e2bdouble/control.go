package e2bdouble

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A plane is the control plane.
type plane struct{ *Double }

// control serves the control plane.
func (d plane) control(w http.ResponseWriter, r *http.Request, body []byte) {
	if r.Header.Get("X-Api-Key") != Key {
		d.answer(w, r, http.StatusUnauthorized, object{"code": http.StatusUnauthorized, "message": "Invalid API key, please visit https://e2b.dev/docs/api-key for more information."})
		return
	}
	path := described(r)
	if err := d.spec.check(r.Method, path, 0, body); err != nil {
		d.tb.Errorf("a request is not as described: %v", err)
		reply(w, http.StatusBadRequest, object{"code": http.StatusBadRequest, "message": err.Error()})
		return
	}
	rest, id := "", ""
	if parts := strings.SplitN(strings.TrimPrefix(path, "/"), "/", 3); len(parts) > 1 && parts[0] == "sandboxes" {
		id = parts[1]
		if len(parts) > 2 {
			rest = parts[2]
		}
	}
	if id == "" {
		if r.Method == http.MethodPost {
			d.create(w, r, body)
			return
		}
		d.list(w, r)
		return
	}
	d.mu.Lock()
	m := d.machines[id]
	d.mu.Unlock()
	if m == nil {
		d.answer(w, r, http.StatusNotFound, object{"code": http.StatusNotFound, "message": "sandbox \"" + id + "\" doesn't exist or you don't have access to it"})
		return
	}
	var in struct {
		Timeout int `json:"timeout"`
	}
	_ = json.Unmarshal(body, &in) // it was checked
	switch {
	case rest == "timeout":
		m.prolong(in.Timeout)
		w.WriteHeader(http.StatusNoContent)
	case rest == "connect":
		m.prolong(in.Timeout)
		d.answer(w, r, http.StatusOK, m.sandbox())
	case r.Method == http.MethodDelete:
		d.remove(m)
		w.WriteHeader(http.StatusNoContent)
	default:
		d.answer(w, r, http.StatusOK, m.detail())
	}
}

// described is the path by which a request is described. E2B's newest client makes
// sandboxes by a second path, for which the same holds.
func described(r *http.Request) string {
	if r.Method == http.MethodPost && r.URL.Path == "/v2/sandboxes" {
		return "/sandboxes"
	}
	return r.URL.Path
}

// answer answers as described.
func (d plane) answer(w http.ResponseWriter, r *http.Request, status int, v any) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		d.tb.Error(err)
	}
	if err := d.spec.check(r.Method, described(r), status, b.Bytes()); err != nil {
		d.tb.Errorf("an answer is not as described: %v", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may be gone
}

// known are the templates that there are.
var known = []string{"code-interpreter-v1", "base"}

func (d plane) create(w http.ResponseWriter, r *http.Request, body []byte) {
	in := struct {
		Template string            `json:"templateID"`
		Timeout  *int              `json:"timeout"`
		Secure   bool              `json:"secure"`
		Internet *bool             `json:"allow_internet_access"`
		Metadata map[string]string `json:"metadata"`
		Envs     map[string]string `json:"envVars"`
	}{}
	if err := json.Unmarshal(body, &in); err != nil {
		d.answer(w, r, http.StatusBadRequest, object{"code": http.StatusBadRequest, "message": err.Error()})
		return
	}
	if !slices.Contains(known, in.Template) {
		d.answer(w, r, http.StatusBadRequest, object{"code": http.StatusBadRequest, "message": "template '" + in.Template + "' not found"})
		return
	}
	m, err := newMachine()
	if err != nil {
		d.tb.Error(err)
		d.answer(w, r, http.StatusInternalServerError, object{"code": http.StatusInternalServerError, "message": "no machine", "error_code": "sandbox_create_failed"})
		return
	}
	m.id, m.template, m.metadata, m.internet, m.envs = "i"+strings.ToLower(rand.Text())[:19], in.Template, in.Metadata, in.Internet, in.Envs
	m.began = time.Now()
	if in.Secure {
		m.token = "not-a-real-token-" + rand.Text()
	}
	ttl := 15
	if in.Timeout != nil {
		ttl = *in.Timeout
	}
	m.expire = func() { d.remove(m) }
	d.mu.Lock()
	d.machines[m.id] = m
	m.prolong(ttl) // under the lock: one that expires at once is in the list already
	d.mu.Unlock()
	d.answer(w, r, http.StatusCreated, m.sandbox())
}

func (d plane) list(w http.ResponseWriter, r *http.Request) {
	want, err := url.ParseQuery(r.URL.Query().Get("metadata"))
	if err != nil {
		d.answer(w, r, http.StatusBadRequest, object{"code": http.StatusBadRequest, "message": err.Error()})
		return
	}
	out := []object{}
	for _, m := range d.all() {
		fits := true
		for name := range want {
			fits = fits && m.metadata[name] == want.Get(name)
		}
		if fits {
			v := m.detail()
			delete(v, "envdAccessToken")
			delete(v, "allowInternetAccess")
			out = append(out, v)
		}
	}
	d.answer(w, r, http.StatusOK, out)
}

// sandbox is what the control plane says of a new one.
func (m *machine) sandbox() object {
	v := object{"templateID": m.template, "sandboxID": m.id, "clientID": "client", "envdVersion": envdVersion, "domain": nil, "trafficAccessToken": nil}
	if m.token != "" {
		v["envdAccessToken"] = m.token
	}
	return v
}

// envdVersion is that of the daemon which the double follows.
const envdVersion = "0.6.13"

func (m *machine) detail() object {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := object{
		"templateID": m.template, "sandboxID": m.id, "clientID": "client", "envdVersion": envdVersion, "state": "running",
		"startedAt": m.began.UTC().Format(time.RFC3339), "endAt": m.end.UTC().Format(time.RFC3339),
		"cpuCount": 2, "memoryMB": 512, "diskSizeMB": 1024,
	}
	if m.metadata != nil {
		v["metadata"] = m.metadata
	}
	if m.token != "" {
		v["envdAccessToken"] = m.token
	}
	if m.internet != nil {
		v["allowInternetAccess"] = *m.internet
	}
	return v
}
