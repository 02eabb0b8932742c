package hostlog

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	text "github.com/tenon-mcp/tenon/servers/hostlog/plain"
)

// unified reads the log of macOS by its own program, which is given two times and
// nothing that a model wrote.
func (w *walk) unified(ctx context.Context) error {
	const form = "2006-01-02 15:04:05-0700"
	out, wait, err := showUnified(ctx, "/usr/bin/log", "show", "--style", "ndjson", "--info", "--debug",
		"--start", w.q.start.Format(form), "--end", w.q.end.Format(form))
	if err != nil {
		return err
	}
	w.files++
	pass := w.passer(ctx, file{path: sourceUnified}, false)
	err = readUnified(out, w.s.zone, func(e *entry) bool { return pass.entry(e.at, func() *entry { return e }) })
	if e := wait(); err == nil && ctx.Err() == nil {
		err = e
	}
	if ctx.Err() != nil {
		w.note("the time for one call was over at entries of %s; ask about a shorter time", w.s.stamp(pass.last))
		return ended(ctx)
	}
	if err != nil {
		return errors.New("the unified log cannot be read: " + plain(err.Error(), 300))
	}
	return nil
}

// readUnified reads the lines that log show --style ndjson writes.
func readUnified(r io.Reader, zone *time.Location, visit func(*entry) bool) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), 1<<20)
	for sc.Scan() {
		var v struct {
			Timestamp        string `json:"timestamp"`
			MessageType      string `json:"messageType"`
			EventMessage     string `json:"eventMessage"`
			ProcessImagePath string `json:"processImagePath"`
			Subsystem        string `json:"subsystem"`
			ProcessID        int    `json:"processID"`
		}
		if json.Unmarshal(sc.Bytes(), &v) != nil || v.Timestamp == "" {
			continue
		}
		at, err := time.ParseInLocation("2006-01-02 15:04:05.999999-0700", v.Timestamp, zone)
		if err != nil {
			continue
		}
		e := &entry{at: at, level: text.LevelOf(v.MessageType), unit: v.Subsystem, program: path.Base(v.ProcessImagePath), pid: itoa(v.ProcessID), text: v.EventMessage, source: sourceUnified}
		if strings.EqualFold(v.MessageType, "default") {
			e.level = 5
		}
		if !visit(e) {
			return nil
		}
	}
	return sc.Err()
}
