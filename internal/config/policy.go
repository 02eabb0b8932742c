package config

// Policy is the section `policy:`, what callers may do. Each part is in a file of
// its own.
type Policy struct {
	Approvals   Approvals   `json:",omitzero"`
	Taint       Taint       `json:",omitempty"`
	Limits      []Limit     `json:",omitempty"`
	Definitions Definitions `json:",omitzero"`
	Redact      Redact      `json:",omitzero"`
}

// guards reads the sections that say who may do what.
type guards struct{ sections }

// policy reads the section of that name.
func (s guards) policy(o *object) {
	n := o.key("policy")
	if n == nil {
		return
	}
	in := newObject(n, o.ex, o.to)
	for _, part := range []func(*object){s.approvals, s.taint, s.limits, s.definitions, s.redact} {
		part(in)
	}
	in.refuse()
}
