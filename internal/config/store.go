package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// Store is the section `store:`: where long results are kept, and the record of
// calls. What is zero is left to whoever keeps it.
type Store struct {
	Dir     string        // of long results; absolute; empty is the user's cache folder
	MaxSize int64         // bytes of all long results
	TTL     time.Duration // how long a long result is kept
	Record  Record        `json:",omitzero"`
}

// Record is what the section says of the record of calls and approvals.
type Record struct {
	// URL is sqlite:PATH with an absolute path, the URL of a PostgreSQL database, or
	// "memory". Empty is the user's state folder.
	URL tool.Secret
	// Keep is how long a call is kept, MaxRows and MaxBytes bound all of them. 0 is
	// the default, and below 0 no bound.
	Keep     time.Duration
	MaxRows  int
	MaxBytes int64
	FailFull bool // calls fail when the record is behind, else they wait
	StopGone bool // calls stop while it cannot be written, else they go on
}

// store reads the section of that name.
func (s sections) store(o *object) {
	n := o.key("store")
	if n == nil {
		return
	}
	st := &s.cfg.Store
	in := newObject(n, o.ex, o.to)
	in.text("dir", &st.Dir)
	if at := in.seen["dir"]; at != nil && st.Dir == "" {
		in.fail(at, "dir wants a folder, and holds nothing", "leave it out for the user's cache folder")
	}
	if st.Dir != "" {
		st.Dir = under(s.doc.dir(), st.Dir)
	}
	in.size("max_size", 1<<20, 1<<40, &st.MaxSize)
	in.duration("ttl", time.Second, 7*24*time.Hour, &st.TTL)
	s.record(in, &st.Record)
	in.refuse()
}

// record reads the keys of the record of calls.
func (s sections) record(in *object, r *Record) {
	s.recordURL(in, &r.URL)
	days(in, "keep", time.Hour, 100*365*24*time.Hour, &r.Keep)
	in.integer("keep_rows", 0, 1e12, &r.MaxRows)
	in.size("keep_bytes", 0, 1<<50, &r.MaxBytes)
	if in.has("keep_rows") && r.MaxRows == 0 {
		r.MaxRows = -1
	}
	if in.has("keep_bytes") && r.MaxBytes == 0 {
		r.MaxBytes = -1
	}
	choice(in, "when_full", "fail", "wait", &r.FailFull)
	choice(in, "when_gone", "stop", "go_on", &r.StopGone)
}

// choice reads one of two words.
func choice(in *object, key, yes, no string, dst *bool) {
	word := no
	in.enum(key, words(yes, no), []string{yes, no}, &word)
	*dst = word == yes
}

// recordURL reads where the record is. It may hold a password.
func (s sections) recordURL(in *object, dst *tool.Secret) {
	const hint = "write sqlite:PATH, postgres://USER@HOST/DATABASE, or memory"
	n := in.seen["url"]
	var text string
	in.text("url", &text)
	if n == nil || text == "" {
		if n != nil && n.Kind == source.Text {
			in.fail(n, "url wants a database, and holds nothing", hint)
		}
		return
	}
	if path, ok := strings.CutPrefix(text, "sqlite:"); ok {
		path = strings.TrimPrefix(path, "//")
		if path == "" || strings.HasSuffix(path, "/") {
			in.fail(n, "url names no file", hint)
			return
		}
		if !filepath.IsAbs(path) {
			path = under(s.doc.dir(), path)
		}
		*dst = tool.NewSecret("sqlite:" + path)
		return
	}
	if text == "memory" {
		*dst = tool.NewSecret(text)
		return
	}
	n.Hide()
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" && u.Query().Get("host") == "" {
		in.fail(n, "url is no database that is known", hint)
		return
	}
	if password, ok := u.User.Password(); ok {
		s.secrets[password] = true
	}
	*dst = tool.NewSecret(text)
}

// days reads a duration that may be in days, such as 30d. 0 is without end, and
// becomes -1.
func days(in *object, key string, low, high time.Duration, dst *time.Duration) {
	n, text, ok := in.value(key, "a duration such as 30d or 12h", source.Text, source.Int, source.Float)
	if !ok {
		return
	}
	if text == "0" {
		*dst = -1
		return
	}
	d, err := time.ParseDuration(text)
	if whole, is := strings.CutSuffix(text, "d"); is {
		var f float64
		if f, err = strconv.ParseFloat(whole, 64); err == nil && f >= 0 && f <= high.Hours()/24+1 {
			d = time.Duration(f * float64(24*time.Hour))
		}
	}
	if err != nil {
		in.fail(n, fmt.Sprintf("%s wants a duration such as 30d or 12h, and holds %s", key, quoteOf(n, text)), "the units are d, h, m and s; 0 keeps all")
		return
	}
	if d < low || d > high {
		in.fail(n, fmt.Sprintf("%s wants a duration from %s to %dd, and holds %s", key, short(low), int(high.Hours()/24), quoteOf(n, text)), "0 keeps all")
		return
	}
	*dst = d
}
