package tenon

import "syscall"

// FetchAnywhere lets the direct fetch of pages reach this machine too.
func FetchAnywhere(o *Options) {
	o.control = func(string, string, syscall.RawConn) error { return nil }
}
