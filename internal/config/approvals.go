package config

// Approvals is the part `approvals:` of the section policy.
type Approvals struct{}

// approvals reads the part of that name.
func (guards) approvals(*object) {}
