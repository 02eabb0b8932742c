package config

// Limit is one entry of the part `limits:` of the section policy.
type Limit struct{}

// limits reads the part of that name.
func (guards) limits(*object) {}
