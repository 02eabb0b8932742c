package tenon

// FetchHere lets the direct fetch of pages reach this machine too.
func FetchHere(o *Options) { o.readable = []string{"127.0.0.1"} }
