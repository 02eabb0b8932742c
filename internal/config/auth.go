package config

// Auth is the section `auth:`, who may call.
type Auth struct {
	Required bool   // local callers need a credential too
	Keys     string // absolute path of the file of keys; empty is the one in the user's state folder
}

// auth reads the section of that name.
func (g guards) auth(o *object) {
	n := o.key("auth")
	if n == nil {
		return
	}
	a := &g.cfg.Auth
	in := newObject(n, o.ex, o.to)
	in.boolean("required", &a.Required)
	in.text("keys", &a.Keys)
	if at := in.seen["keys"]; at != nil && a.Keys == "" {
		in.fail(at, "keys wants the path of a file, and holds nothing", "leave it out for the one in the user's state folder")
	}
	if a.Keys != "" {
		a.Keys = under(g.doc.dir(), a.Keys)
	}
	in.refuse()
}
