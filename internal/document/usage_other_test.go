//go:build !unix

package document_test

import "time"

func childUsage() (time.Duration, int64) { return 0, 0 }
