package config

// Redact is the part `redact:` of the section policy.
type Redact struct{}

// redact reads the part of that name.
func (guards) redact(*object) {}
