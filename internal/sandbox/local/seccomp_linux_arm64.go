package local

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// What only this machine has, or calls by more names.
var deniedHere, sharedHere []uint32
