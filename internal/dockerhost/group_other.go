//go:build !unix

package dockerhost

func whoMay(string) string { return "run Tenon as a user who may use it, such as one of docker-users" }
