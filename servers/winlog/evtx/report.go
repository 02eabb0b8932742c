package evtx

import (
	"fmt"
	"strings"
)

// maxProblems bounds those that are kept; the counts go on.
const maxProblems = 20

// A Problem is one thing that is wrong with a file.
type Problem struct {
	Chunk  int   // its number, from 0; -1 is the header of the file
	Offset int64 // in the file
	What   string
}

func (p Problem) String() string {
	if p.Chunk < 0 {
		return p.What
	}
	return fmt.Sprintf("chunk %d, at byte %d: %s", p.Chunk, p.Offset, p.What)
}

// A Report is what was read, and what could not be.
type Report struct {
	Chunks       int // read
	Records      int // found in them
	BadChunks    int // unreadable, or without a header that says what they hold
	BadRecords   int // found and not, or not wholly, readable
	Missing      int // records that chunks name and do not hold
	BadChecksums int // of what was read all the same
	Problems     []Problem
	More         int // problems that are not in the list
}

// Damaged reports whether anything could not be read. A checksum alone that does not
// fit loses nothing.
func (r *Report) Damaged() bool { return r.BadChunks+r.BadRecords+r.Missing > 0 }

func (r *Report) add(p Problem) {
	if len(r.Problems) >= maxProblems {
		r.More++
		return
	}
	r.Problems = append(r.Problems, p)
}

// String returns one line for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d records in %d chunks", r.Records, r.Chunks)
	for _, e := range []struct {
		n    int
		what string
	}{
		{r.BadChunks, "damaged chunks"},
		{r.BadRecords, "unreadable or partly readable records"},
		{r.Missing, "records missing"},
		{r.BadChecksums, "checksums that do not fit"},
	} {
		if e.n > 0 {
			fmt.Fprintf(&b, ", %d %s", e.n, e.what)
		}
	}
	for _, p := range r.Problems {
		b.WriteString("; " + p.String())
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "; and %d more", r.More)
	}
	return b.String()
}
