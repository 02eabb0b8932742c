package config

// Auth is the section `auth:`, who may call.
type Auth struct{}

// auth reads the section of that name.
func (guards) auth(*object) {}
