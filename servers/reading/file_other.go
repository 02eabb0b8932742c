//go:build !unix

package reading

const nonblock = 0
