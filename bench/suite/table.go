package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s run of %.0f s on %s. Medians of rounds in turns.\n", r.Plan, r.Seconds, r.Machine)
	columns := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	if len(r.Load) > 0 {
		fmt.Fprint(columns, "\nanswer\tcallers\tpath\tcalls/s\tratio\tp50 µs\tp99 µs\tadded p50\tadded p99\tCPU µs\tgenerator CPU µs\tpeak MiB\terrors\n")
		for _, row := range r.Load {
			row.write(columns)
		}
	}
	if l := r.List; l != nil {
		fmt.Fprint(columns, "\ntools/list\tpages\tbytes\tp50 ms\tgateway CPU ms\n")
		fmt.Fprintf(columns, "%d tools\t%d\t%d\t%.2f\t%s\n", l.Tools, l.Pages, l.Bytes, l.P50, optional(l.CPU, 2))
	}
	if len(r.Ready) > 0 {
		fmt.Fprint(columns, "\nready\talone ms\tgateway ms\tover ms\tratio\n")
		for _, s := range r.Ready {
			fmt.Fprintf(columns, "%s\t%.1f\t%.1f\t%.1f\t%.2f\n", plural(s.Servers, "server"), s.Alone, s.Gateway, s.Over, s.Ratio)
		}
	}
	if s := r.Builtin; s != nil {
		fmt.Fprint(columns, "\nno configuration\t/readyz ms\tlisted ms\n")
		fmt.Fprintf(columns, "%d tools\t%.1f\t%.1f\n", s.Tools, s.Readyz, s.Listed)
	}
	if s := r.Sessions; s != nil {
		fmt.Fprint(columns, "\nsessions\tbefore MiB\tgrown MiB\teach KiB\n")
		fmt.Fprintf(columns, "%d\t%.1f\t%.1f\t%.1f\n", s.Sessions, s.BeforeMiB, s.GrownMiB, s.EachKiB)
	}
	fmt.Fprint(columns, "\ngoal\tbound\tfigure\t\n")
	for _, g := range r.Goals {
		g.write(columns)
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	r.writeTrouble(&out)
	_, err := w.Write(out.Bytes())
	return err
}

func (r *Row) write(w io.Writer) {
	ratio := "-"
	if r.Ratio > 0 {
		ratio = fmt.Sprintf("%.2f", r.Ratio)
	}
	fmt.Fprintf(
		w, "%s\t%d\t%s\t%.0f\t%s\t%.0f\t%.0f\t%s\t%s\t%s\t%s\t%s\t%d\n",
		bytesText(int64(r.Size)), r.Callers, r.Path, r.Rate, ratio, r.P50, r.P99, optional(r.AddedP50, 0), optional(r.AddedP99, 0),
		optional(r.CPU, 1), optional(r.OwnCPU, 1), optional(r.PeakMiB, 0), r.Errors,
	)
}

func (g *Goal) write(w io.Writer) {
	relation, verdict := "≤", "not met"
	if g.AtLeast {
		relation = "≥"
	}
	switch {
	case g.Met:
		verdict = "met"
	case g.Figure == nil:
		verdict = "not measured"
	}
	digits := 1
	if g.Unit == "" && g.Bound < 1 {
		digits = 2
	}
	fmt.Fprintf(w, "%s\t%s %s %s\t%s\t%s\n", g.Name, relation, strconv.FormatFloat(g.Bound, 'f', -1, 64), g.Unit, optional(g.Figure, digits), verdict)
}

// writeTrouble writes what went wrong.
func (r *Report) writeTrouble(w io.Writer) {
	for _, row := range r.Load {
		if row.Errors > 0 {
			fmt.Fprintf(w, "\n%d of the calls (%s, %s, %s) failed, the first with: %s\n",
				row.Errors, bytesText(int64(row.Size)), plural(row.Callers, "caller"), row.Path, row.Error)
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "\nproblem: %s\n", p)
	}
}

// optional writes a figure, or a dash where there is none.
func optional(figure *float64, digits int) string {
	if figure == nil {
		return "-"
	}
	return strconv.FormatFloat(*figure, 'f', digits, 64)
}

// bytesText writes a size in the unit that fits.
func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// plural writes how many there are of something.
func plural(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
