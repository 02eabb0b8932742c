package proc

import "log/slog"

// A guard is not needed: the kernel kills a job when its last handle closes.
type guard struct{ wake chan struct{} }

func newGuard(*slog.Logger, string) *guard { return &guard{} }

func (*guard) add(int)  {}
func (*guard) drop(int) {}
func (*guard) ensure()  {}
func (*guard) replace() {}
func (*guard) close()   {}
