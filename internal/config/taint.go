package config

// Taint is the part `taint:` of the section policy.
type Taint struct{}

// taint reads the part of that name.
func (guards) taint(*object) {}
