package winlog

import (
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/servers/winlog/evtx"
)

const timeLayout = "2006-01-02T15:04:05.000Z"

// maxData is how many values of an event an answer has.
const maxData = 100

// eventData is an event as data.
type eventData struct {
	Time       string      `json:"time" jsonschema:"when it happened, in UTC"`
	Level      string      `json:"level" jsonschema:"Critical, Error, Warning, Information, Verbose, AuditFailure or AuditSuccess"`
	EventID    uint32      `json:"event_id" jsonschema:"number of the kind of event, which the provider gave it"`
	Qualifiers uint32      `json:"qualifiers,omitempty" jsonschema:"upper half of the number, of old providers"`
	Provider   string      `json:"provider" jsonschema:"the program that wrote it"`
	Channel    string      `json:"channel,omitempty" jsonschema:"the log it was written to first"`
	Computer   string      `json:"computer,omitempty" jsonschema:"the machine that wrote it"`
	RecordID   uint64      `json:"record_id" jsonschema:"its number in the log, for get_event_by_record_id"`
	File       string      `json:"file,omitempty" jsonschema:"the file that it is in"`
	Message    string      `json:"message" jsonschema:"what it says, shortened; where the log brings no text it is made of the data"`
	Data       []fieldData `json:"data,omitempty" jsonschema:"the values in the event, in their order"`
	eventDetail
}

// eventDetail are the parts of an event that few questions need.
type eventDetail struct {
	Task       int    `json:"task,omitempty" jsonschema:"task of the provider"`
	Opcode     int    `json:"opcode,omitempty" jsonschema:"step of the task"`
	Keywords   string `json:"keywords,omitempty" jsonschema:"keywords, as a hexadecimal number"`
	ProcessID  uint64 `json:"process_id,omitempty" jsonschema:"process that wrote it"`
	ThreadID   uint64 `json:"thread_id,omitempty" jsonschema:"thread that wrote it"`
	UserSID    string `json:"user_sid,omitempty" jsonschema:"user that wrote it"`
	ActivityID string `json:"activity_id,omitempty" jsonschema:"activity that it is part of"`
}

type fieldData struct {
	Name  string `json:"name,omitempty" jsonschema:"name of the value; old providers give none"`
	Value string `json:"value" jsonschema:"the value"`
}

// dataOf returns an event as data, with so many characters of its message and of each
// value.
func dataOf(f found, message, value int) eventData {
	e := f.event
	s := &e.System
	text := f.message
	if text == "" {
		text = messageOf(e)
	}
	d := eventData{
		Time: s.Time.UTC().Format(timeLayout), Level: levelName(s), EventID: s.EventID, Qualifiers: s.Qualifiers,
		Provider: plain(s.Provider.Name, 200), Channel: plain(s.Channel, 200), Computer: plain(s.Computer, 200),
		RecordID: s.RecordID, File: f.file, Message: plain(text, message),
		eventDetail: eventDetail{
			Task: s.Task, Opcode: s.Opcode, Keywords: fmt.Sprintf("0x%x", s.Keywords), ProcessID: s.Execution.ProcessID,
			ThreadID: s.Execution.ThreadID, UserSID: plain(s.UserSID, 200),
			ActivityID: plain(s.Activity.ID, 60),
		},
	}
	left := 4 * value // of them all
	for _, v := range e.Data {
		if len(d.Data) == maxData || left <= 0 {
			d.Data = append(d.Data, fieldData{Name: "…", Value: fmt.Sprintf("%d more values", len(e.Data)-len(d.Data))})
			break
		}
		field := fieldData{Name: plain(v.Name, 120), Value: raw(v.Value, min(value, left))}
		left -= len(field.Value)
		d.Data = append(d.Data, field)
	}
	return d
}

// A channel is a log, as a list has it.
type channel struct {
	Name    string   `json:"name" jsonschema:"name of the log, for log_name"`
	Records int64    `json:"records" jsonschema:"how many records it holds that can be read; -1 where that is not known"`
	About   bool     `json:"about,omitempty" jsonschema:"whether records is an estimate by their numbers, as for large logs"`
	Bytes   int64    `json:"bytes" jsonschema:"size of its files"`
	Oldest  string   `json:"oldest,omitempty" jsonschema:"time of its oldest record, in UTC"`
	Newest  string   `json:"newest,omitempty" jsonschema:"time of its newest record, in UTC"`
	Files   []string `json:"files,omitempty" jsonschema:"its files, where it is read from files"`

	first, last time.Time
	shut        bool // a file of it could not be opened
}

func (c *channel) see(t time.Time) {
	if t.Year() <= 1601 {
		return
	}
	if c.first.IsZero() || t.Before(c.first) {
		c.first = t
	}
	if t.After(c.last) {
		c.last = t
	}
}

// A listing is a list of logs.
type listing struct {
	channels []channel
	damages  []damage
	notes    []string
	cut      bool
	counted  int // chunks that were looked into
}

// isError reports whether people would call an event one.
func isError(s *evtx.System) bool { return s.Level == evtx.Critical || s.Level == evtx.Error }
