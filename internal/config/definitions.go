package config

// Definitions is the part `definitions:` of the section policy.
type Definitions struct{}

// definitions reads the part of that name.
func (guards) definitions(*object) {}
