package doubles

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Handler serves all doubles, each below its name, and takes faults: POST /faults/NAME
// with a [Fault] as JSON adds one, DELETE /faults/NAME takes all back. What has no name of
// a double is a page of the web, by its host.
func Handler(web *Web) http.Handler {
	byName := map[string]*Double{}
	for _, d := range All(web) {
		byName[d.Name] = d
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if d := byName[name]; d != nil {
			stripped(d, name).ServeHTTP(w, r)
			return
		}
		if name == "faults" {
			setFault(w, r, byName[strings.TrimPrefix(r.URL.Path, "/faults/")])
			return
		}
		web.ServeHTTP(w, r)
	})
}

// stripped hands a request on without the name. It keeps two slashes in a row, which a
// reader's addresses have.
func stripped(d *Double, name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u := *r.URL
		u.Path = strings.TrimPrefix(u.Path, "/"+name)
		u.RawPath = strings.TrimPrefix(u.RawPath, "/"+name)
		if u.Path == "" {
			u.Path = "/"
		}
		inner := r.Clone(r.Context())
		inner.URL = &u
		d.ServeHTTP(w, inner)
	})
}

func setFault(w http.ResponseWriter, r *http.Request, d *Double) {
	var f Fault
	switch {
	case d == nil:
		http.Error(w, "there is no such double", http.StatusNotFound)
	case r.Method == http.MethodDelete:
		d.Heal()
	case json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&f) != nil:
		http.Error(w, "that is no fault", http.StatusBadRequest)
	default:
		d.Fail(f)
	}
}
