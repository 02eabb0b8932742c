package dockerhost

// Closed returns what is said of a socket at address that err keeps closed.
func Closed(address string, err error) error {
	return Host{Address: address, From: "found at a usual place"}.closed(err)
}
