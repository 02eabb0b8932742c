package system

// Pressure reads pressure stall information from a directory.
func Pressure(dir string) string { return pressure(dir) }
