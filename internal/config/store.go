package config

import "time"

// Store is the section `store:`, where long results are kept. What is zero is
// left to the store.
type Store struct {
	Dir     string        // absolute; empty is the user's cache folder
	MaxSize int64         // bytes of all results
	TTL     time.Duration // how long a result is kept
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
	in.refuse()
}
