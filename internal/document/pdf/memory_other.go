//go:build !unix

package pdf

func anew(size int) (b []byte, free func()) { return make([]byte, size), func() {} }
