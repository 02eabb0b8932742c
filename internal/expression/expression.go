// Package expression reads regular expressions of RE2 and knows what they cost.
//
//	e, err := expression.Foreign(in.Grep)   // by somebody who is not trusted
//	…
//	if e.Match(line) { … }
//
// A match takes no more than a time that grows with the text times the program of the
// expression (Russ Cox, Regular Expression Matching Can Be Simple And Fast, 2007). A counted
// repetition is written out in that program, so that a few letters, .{0,1000}, are
// thousands of instructions, each of which is looked at for each byte of a text.
package expression

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
)

// An Expression is ready to match. It is safe for concurrent use.
type Expression struct {
	*regexp.Regexp
	Size   int            // instructions of its program
	Syntax *syntax.Regexp // what it was read as; nobody may change it
}

// Compile reads an expression of whatever size. The error is of what RE2 does not have,
// such as a look-ahead.
func Compile(text string) (*Expression, error) { return compile(text, math.MaxInt) }

// compile reads an expression, and makes it ready where it is of no more than a size.
func compile(text string, maxSize int) (*Expression, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if n := len(program.Inst); n > maxSize {
		return nil, costly(n)
	}
	re, err := regexp.Compile(text)
	return &Expression{re, len(program.Inst), parsed}, err
}

// costly is the size of an expression that is too large.
type costly int

func (n costly) Error() string {
	return fmt.Sprintf("is too costly: it becomes %d steps, and %d are allowed. Repeat less: .* costs less than .{0,500}", int(n), MaxSize)
}

// Bounds on what somebody may give who is not trusted. With them a text of 64 KiB is
// looked through in less than a second.
const (
	MaxText = 1000 // bytes
	MaxSize = 1000
)

// Foreign reads an expression of somebody who is not trusted. The text of the error goes
// on where the name of the parameter stands before it: "grep" + " is too costly: …".
func Foreign(text string) (*Expression, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("is longer than %d bytes", MaxText)
	}
	e, err := compile(text, MaxSize)
	if _, ok := errors.AsType[costly](err); err != nil && !ok {
		reason := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return nil, fmt.Errorf("is no regular expression of RE2: %.200s. Write \\ before signs such as ( [ * that are meant as themselves. Look-arounds and back references do not exist there", reason)
	}
	return e, err
}
