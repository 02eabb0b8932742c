// Package doctest runs the examples of a Markdown document, so that what a
// reader sees is what Tenon does. Only tests import it.
//
// The words after the language of a fenced block say what is done with it:
//
//	```sh run               runs it with bash; it must end with exit code 0
//	```console run          runs each line after "$ " and compares what it prints;
//	                        a line "..." stands for any lines
//	```yaml file=tenon.yaml writes it to that file, whatever the language
//	```sh norun             nothing
//
// A sh or console block must have one of these words. A go block that begins
// with "package main" is built without any.
//
// The blocks of a document run in order, in one shell and one empty folder: a
// variable, a file or a process in the background that one block makes is there
// for the next.
package doctest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Block is one fenced block of a document.
type Block struct {
	Line     int    // where it begins
	Language string // the first word after the fence
	Words    []string
	Text     string // with its last newline
}

// File returns the name that the block asks to be written to, or "".
func (b Block) File() string {
	for _, w := range b.Words {
		if name, ok := strings.CutPrefix(w, "file="); ok {
			return name
		}
	}
	return ""
}

// Runs reports whether the block is to be run by a shell.
func (b Block) Runs() bool { return b.shell() && slices.Contains(b.Words, "run") }

// Program reports whether the block is a whole Go program.
func (b Block) Program() bool {
	return b.Language == "go" && strings.HasPrefix(b.Text, "package main\n") && !slices.Contains(b.Words, "norun")
}

func (b Block) shell() bool {
	return slices.Contains([]string{"sh", "bash", "shell", "console"}, b.Language)
}

// check returns what is wrong with the words of the block.
func (b Block) check() error {
	if b.shell() && b.File() == "" && slices.Contains(b.Words, "run") == slices.Contains(b.Words, "norun") {
		return fmt.Errorf("line %d: a %s block needs the word run or norun after its language", b.Line, b.Language)
	}
	return nil
}

// Blocks returns the fenced blocks of a Markdown text. A block in a list loses
// the indentation of its fence.
func Blocks(text string) ([]Block, error) {
	var all []Block
	var open *Block
	var fence, indent string
	n := 0
	for line := range strings.Lines(text) {
		n++
		bare := strings.TrimSpace(line)
		switch {
		case open == nil && strings.HasPrefix(bare, "```"):
			words := strings.Fields(strings.TrimLeft(bare, "`"))
			fence = bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
			indent = line[:strings.Index(line, fence)]
			open = &Block{Line: n}
			if len(words) > 0 {
				open.Language, open.Words = words[0], words[1:]
			}
		case open != nil && bare == fence:
			if err := open.check(); err != nil {
				return nil, err
			}
			all = append(all, *open)
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent)
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block has no end", open.Line)
	}
	return all, nil
}

// A Step is one piece of a document's script.
type Step struct {
	Line   int
	Script string // what the shell runs
	Want   string // what it must print; only where Check is set
	Check  bool
}

// Steps returns what the block asks the shell to do, in order.
func (b Block) Steps() ([]Step, error) {
	switch {
	case b.File() != "":
		return []Step{{Line: b.Line, Script: writeFile(b.File(), b.Text)}}, nil
	case !b.Runs():
		return nil, nil
	case b.Language != "console":
		return []Step{{Line: b.Line, Script: b.Text}}, nil
	}
	var steps []Step
	n := b.Line
	for line := range strings.Lines(b.Text) {
		n++
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			steps = append(steps, Step{Line: n, Script: command, Check: true})
		case len(steps) == 0:
			return nil, fmt.Errorf("line %d: output before the first command", n)
		case strings.HasSuffix(steps[len(steps)-1].Script, "\\\n"):
			steps[len(steps)-1].Script += strings.TrimPrefix(line, "> ")
		default:
			steps[len(steps)-1].Want += line
		}
	}
	return steps, nil
}

// writeFile returns the command that writes text to a file.
func writeFile(name, text string) string {
	const end = "END_OF_THE_BLOCK"
	return fmt.Sprintf("mkdir -p \"$(dirname '%s')\"\ncat >'%s' <<'%s'\n%s%s\n", name, name, end, text, end)
}

// Script joins the steps into one script for bash. Step i prints to the file i
// in the folder that $DOCTEST_OUT names; a step that fails ends the script. What
// runs in the background is stopped at the end.
func Script(steps []Step) string {
	var b strings.Builder
	b.WriteString("set -euo pipefail\ntrap 'jobs -p | xargs -r kill 2>/dev/null; wait' EXIT\n")
	for i, s := range steps {
		fmt.Fprintf(&b, "{\n%s} >\"$DOCTEST_OUT/%d\" 2>&1 </dev/null\n", s.Script, i)
	}
	return b.String()
}

// Matches reports whether got is what want shows: the same lines, where a line
// "..." in want stands for any number of lines, and "..." inside of a line for
// any text.
func Matches(want, got string) bool {
	pattern := regexp.QuoteMeta(strings.TrimRight(want, "\n") + "\n")
	pattern = regexp.MustCompile(`(?m)^\\\.\\\.\\\.\n`).ReplaceAllString(pattern, `(?:.*\n)*?`)
	pattern = strings.ReplaceAll(pattern, `\.\.\.`, `.*?`)
	return regexp.MustCompile(`\A` + pattern + `\z`).MatchString(strings.TrimRight(got, "\n") + "\n")
}
