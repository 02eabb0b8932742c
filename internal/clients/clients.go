// Package clients reads and edits the settings of programs that use tool servers:
// Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Codex, Zed and Gemini CLI.
//
//	world := clients.World{OS: runtime.GOOS, Env: env, Project: dir}
//	cursor := clients.Find("cursor")
//	for _, s := range cursor.Settings(world) {
//		found, err := s.Read()                         // servers, with what each loses
//	}
//	change, err := cursor.Settings(world)[0].Connect(clients.Entry{URL: "http://127.0.0.1:8400/mcp"}, nil)
//	err = change.Write()
//
// Settings are edited as text: an entry is put in or cut out, and every other byte
// stays, so comments and formatting survive. An edit is read back before it is
// given out, and one that did more than it should is an error.
//
// # How files are written
//
// A Change knows the bytes it was made from. It is written only over those: who
// saved the file in between keeps what they saved. The new text goes to a file
// beside, which then takes the place of the old one, with its permissions; where
// the path is a symbolic link, what it names is replaced. A Store keeps the bytes
// from before until the change is undone.
package clients

import (
	"fmt"
	"slices"
)

// A Client is a program with settings that name tool servers.
type Client struct {
	ID   string // as on the command line
	Name string // as people say it

	files []file
	exprs dialect
	entry func(Entry) []field // what it wants for a server
	local bool                // it takes programs alone, no URL
}

// A field is one member of an entry.
type field struct {
	key   string
	value any // a string or a []string
}

// An Entry is what is written into the settings of a client: a URL, or a program
// with its arguments.
type Entry struct {
	URL     string
	Command string
	Args    []string
}

// EntryName is the name of Tenon's entry in the settings of a client.
const EntryName = "tenon"

// TakesURL reports whether the client reaches a server by its URL.
func (c *Client) TakesURL() bool { return !c.local }

// All returns the clients that are known, in a fixed order.
func All() []*Client { return slices.Clone(known()) }

// IDs returns their names.
func IDs() []string {
	var ids []string
	for _, c := range known() {
		ids = append(ids, c.ID)
	}
	return ids
}

// Find returns the client with that name, or nil.
func Find(id string) *Client {
	for _, c := range known() {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// program is the entry of a program with its arguments.
func (e Entry) program() []field {
	return []field{{"command", e.Command}, {"args", e.Args}}
}

// remote makes what most clients want: the URL under a key, or the program. With
// typed the kind of the server is said as well.
func remote(key string, typed bool) func(Entry) []field {
	return func(e Entry) []field {
		var out []field
		kind := "http"
		if e.URL == "" {
			kind, out = "stdio", e.program()
		} else {
			out = []field{{key, e.URL}}
		}
		if typed {
			out = append([]field{{"type", kind}}, out...)
		}
		return out
	}
}

// An Error is a mistake in a file, or about it, with its place.
type Error struct {
	Path         string
	Line, Column int // from 1; 0 for the whole file
	Text, Hint   string
}

// Error implements error. It never holds a value of the file.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Path, e.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Text)
}
