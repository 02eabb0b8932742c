package egress

// Allowed reports whether a robots.txt lets a program read a path.
func Allowed(file, agent, path string) bool {
	return allowed(parseRobots([]byte(file), agent), canonical(path))
}
