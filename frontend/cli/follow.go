package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
)

// followEvery is how often new calls are looked for.
const followEvery = 500 * time.Millisecond

// followCalls shows calls as they are made, until it is interrupted. A call is
// recorded once it has ended, so a long one may have begun before others.
func followCalls(ctx context.Context, a *app, r recorder, f tenon.CallFilter, page tenon.CallPage) error {
	type shape struct {
		id      string
		running bool
	}
	shown := map[shape]bool{}
	table := growing{screen: a.screen, widest: []string{"01-02 15:04:05", "12345678", "1234567890123456", "12345678901", "1234567", "1234567", "1234567", ""}}
	if !a.json() {
		table.print([][]string{callHeads})
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		now := map[shape]bool{}
		var rows [][]string
		for _, c := range slices.Backward(page.Calls) {
			s := shape{c.ID, c.Running}
			now[s] = true
			if shown[s] {
				continue
			}
			if a.json() {
				line, _ := json.Marshal(c) // a record always marshals
				a.printText(string(line))
			} else {
				rows = append(rows, callRow(c))
			}
		}
		table.print(rows)
		shown = now
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil // it was to go on until then
		}
		var err error
		f.Limit = 1000
		if page, _, err = r.Recorded(ctx, f); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// A growing table is printed row by row. Its columns are as wide as their widest cell so
// far.
type growing struct {
	screen
	widest []string // a row of the widest cells, and an empty one last
}

// print prints some rows.
func (g *growing) print(rows [][]string) {
	if len(rows) == 0 {
		return
	}
	for _, row := range rows {
		for i, cell := range row[:len(g.widest)-1] {
			if utf8.RuneCountInString(cell) > utf8.RuneCountInString(g.widest[i]) {
				g.widest[i] = cell
			}
		}
	}
	text := string(rest.AlignedTable(append([][]string{g.widest}, rows...), g.width))
	_, text, _ = strings.Cut(text, "\n") // but for what makes it wide
	_, _ = g.stdout.Write([]byte(text))
}
