package share_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tenon-mcp/tenon/internal/share"
)

// takeAll takes places until there is none for this caller.
func takeAll(p *share.Places, who string, limit int) (n int, err error) {
	for {
		if err = p.Take(who, limit); err != nil {
			return n, err
		}
		n++
	}
}

func TestNobodyTakesAll(t *testing.T) {
	var p share.Places
	for i, want := range []int{75, 18, 5, 1, 1} {
		n, err := takeAll(&p, fmt.Sprint("caller ", i), 100)
		if n != want || !errors.Is(err, share.ErrShare) {
			t.Errorf("caller %d got %d places, want %d: %v", i, n, want, err)
		}
	}
	if err := p.Take("late", 100); !errors.Is(err, share.ErrFull) {
		t.Errorf("a place of a hundred and one: %v", err)
	}
	for range 75 {
		p.Give("caller 0")
	}
	p.Give("caller 0") // one too many
	p.Give("nobody")
	if n, _ := takeAll(&p, "late", 100); n != 56 {
		t.Errorf("got %d of the 75 that are free", n)
	}
}

// TestAlone: where nobody has a name, there is one caller, who has all places.
func TestAlone(t *testing.T) {
	var p share.Places
	if n, err := takeAll(&p, "", 100); n != 100 || !errors.Is(err, share.ErrFull) {
		t.Errorf("got %d places: %v", n, err)
	}
	if err := p.Take("ci", 100); !errors.Is(err, share.ErrFull) {
		t.Errorf("one more than there are: %v", err)
	}
	for range 20 {
		p.Give("")
	}
	if err := p.Take("", 100); !errors.Is(err, share.ErrShare) {
		t.Errorf("more than its share beside another one: %v", err)
	}
	if err := p.Take("ci", 100); err != nil {
		t.Error(err)
	}
}

func TestFewPlaces(t *testing.T) {
	for limit, want := range map[int][]int{1: {1, 0}, 2: {2, 0}, 7: {7, 0}, 8: {6, 1, 1, 0}, 0: {0, 0}} {
		var p share.Places
		for i, want := range want {
			if n, _ := takeAll(&p, fmt.Sprint(i), limit); n != want {
				t.Errorf("of %d, caller %d got %d, want %d", limit, i, n, want)
			}
		}
	}
}
