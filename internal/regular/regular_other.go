//go:build !unix

package regular

const nonblock = 0 // pipes have names of their own there
