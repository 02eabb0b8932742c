package upstream

import (
	"fmt"
	"slices"
	"strings"
)

// denials are what programs say, in lower case, when the kernel refuses them something.
var denials = []string{"permission denied", "operation not permitted", "permissionerror", "eacces", "eperm", "address family not supported"}

// confined adds to what a confined server failed with that this may be why, where it
// looks so: neither the kernel nor the program knows it.
func (o *Options) confined(err error) error {
	if err == nil || o.Command == nil || o.Command.Confine == nil {
		return err
	}
	text := strings.ToLower(err.Error())
	if !slices.ContainsFunc(denials, func(d string) bool { return strings.Contains(text, d) }) {
		return err
	}
	return fmt.Errorf("%w; confine may be why: it grants the system's folders, the program, and what confine.read, write and network name. "+
		"A command that is a script of pyenv, nvm or the like needs their whole folder in confine.read", err)
}
