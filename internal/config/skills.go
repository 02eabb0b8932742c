package config

// Skills is the section `skills:`, where the folders of skills are.
type Skills struct{}

// skills reads the section of that name.
func (guards) skills(*object) {}
