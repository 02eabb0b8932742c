// Package glob matches the names of servers and tools against the patterns of the
// configuration: * stands for any text, ? for one character, [a-z] for one of
// several, and \ before a character for just that.
//
//	glob.Match("read_*", "read_file") // true
//	glob.MatchID(tool.ID{Server: "*", Name: "delete_*"}, id)
//
// It is path.Match but for two things. A star also covers slashes, which in the
// name of a tool are characters like any other: a tool named a/b must not slip
// through a blacklist of "*". And a pattern matches the name that is spelled like
// itself, whatever it means as a pattern.
package glob

import (
	"path"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// Match reports whether pattern covers name. One that is no pattern covers only
// its own spelling.
func Match(pattern, name string) bool {
	if pattern == name {
		return true
	}
	if ok, err := path.Match(pattern, name); ok && err == nil {
		return true // a class such as [.-0] spans the slash
	}
	const noSlash = "\x01" // no tool's name holds it, and path.Match gives it no meaning
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", noSlash), strings.ReplaceAll(name, "/", noSlash))
	return err == nil && ok
}

// MatchID reports whether both halves of pattern cover those of id.
func MatchID(pattern, id tool.ID) bool {
	return Match(pattern.Server, id.Server) && Match(pattern.Name, id.Name)
}

// Check returns path.ErrBadPattern for a text that is no pattern, or nil.
func Check(pattern string) error {
	_, err := path.Match(pattern, "")
	return err
}
