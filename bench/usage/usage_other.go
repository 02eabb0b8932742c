//go:build !linux

package usage

import "time"

// CPU returns ErrUnsupported.
func (Process) CPU() (time.Duration, error) { return 0, ErrUnsupported }

// RSS returns ErrUnsupported.
func (Process) RSS() (int64, error) { return 0, ErrUnsupported }

// PeakRSS returns ErrUnsupported.
func (Process) PeakRSS() (int64, error) { return 0, ErrUnsupported }

// ResetPeak returns ErrUnsupported.
func (Process) ResetPeak() error { return ErrUnsupported }

// Available returns ErrUnsupported.
func Available() (int64, error) { return 0, ErrUnsupported }
