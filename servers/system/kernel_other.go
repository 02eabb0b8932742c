//go:build !linux

package system

import (
	"context"
	"errors"
	"time"
)

func kernelLog(context.Context) ([]string, time.Time, error) {
	return nil, time.Time{}, errors.New("only that of Linux is; on Windows use the event log System (server winlog), on macOS the server hostlog")
}
