//go:build unix

package proc_test

import (
	"slices"
	"testing"

	"github.com/tenon-mcp/tenon/internal/proc"
)

// The tree is that of process 100, started at 50 by process 10 of session 9.
func TestChoose(t *testing.T) {
	const root, start, self = 100, 50, 10
	us := proc.Listed{Pid: self, Parent: 1, Session: 9, Start: 1}
	rootItself := proc.Listed{Pid: root, Parent: self, Session: root, Start: start}
	for _, tt := range []struct {
		name string
		all  []proc.Listed
		want []int
	}{
		{"nothing runs", []proc.Listed{us}, nil},
		{"the root", []proc.Listed{us, rootItself}, []int{root}},
		{"its session, orphaned", []proc.Listed{us, {Pid: 101, Parent: 1, Session: root, Start: 51}}, []int{101}},
		{"a child in a session of its own", []proc.Listed{us, rootItself, {Pid: 101, Parent: root, Session: 101, Start: 50}}, []int{root, 101}},
		{"an orphan with the mark, and its session", []proc.Listed{
			us,
			{Pid: 101, Parent: 1, Session: 101, Start: 51, Marked: true},
			{Pid: 102, Parent: 1, Session: 101, Start: 52},
			{Pid: 103, Parent: 102, Session: 103, Start: 53},
		}, []int{101, 102, 103}},
		{"listed before what makes them members", []proc.Listed{
			us,
			{Pid: 5, Parent: 6, Session: 5, Start: 60},
			{Pid: 6, Parent: 7, Session: 6, Start: 60},
			{Pid: 7, Parent: root, Session: 7, Start: 60},
			rootItself,
		}, []int{root, 7, 6, 5}},
		{"others", []proc.Listed{
			us, rootItself,
			{Pid: 200, Parent: self, Session: 200, Start: 60},
			{Pid: 201, Parent: 1, Session: 1, Start: 60},
		}, []int{root}},
		{"our own session never", []proc.Listed{us, {Pid: 11, Parent: self, Session: 9, Start: 60, Marked: true}}, nil},
		{"what is older never", []proc.Listed{us, rootItself, {Pid: 101, Parent: root, Session: root, Start: 49, Marked: true}}, []int{root}},
		{"a younger process with the root's number", []proc.Listed{
			us,
			{Pid: root, Parent: 1, Session: root, Start: 70},
			{Pid: 102, Parent: root, Session: root, Start: 71},
			{Pid: 103, Parent: 1, Session: 103, Start: 60, Marked: true},
		}, []int{103}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := proc.Members(root, start, self, tt.all); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
