// Package cage bounds what sandboxes use by cgroups of Linux, of version 2 where they
// are handed on to this process, else of version 1.
//
//	set := cage.New(4 << 30)             // nil where no cgroup can be made
//	c, err := set.Add(512<<20, 64)       // one sandbox
//	err = c.Join(pid)
//	defer c.Close()
package cage
