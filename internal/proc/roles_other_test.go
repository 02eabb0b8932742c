//go:build !linux

package proc_test

func limitRoles() map[string]role { return nil }
