//go:build unix

package pdf

import "golang.org/x/sys/unix"

// anew returns memory outside the heap, which the system gives page by page as it is used.
func anew(size int) (b []byte, free func()) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, func() {}
	}
	return b, func() { _ = unix.Munmap(b) } // nothing else can be done
}
