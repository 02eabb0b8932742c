//go:build !darwin

package hostlog

import (
	"context"
	"errors"
	"io"
)

func showUnified(context.Context, string, ...string) (io.Reader, func() error, error) {
	return nil, nil, errors.New(`the unified log is on macOS only. Use source "journal" or "all"`)
}
