package evtx_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/servers/winlog/evtx"
	"github.com/tenon-mcp/tenon/servers/winlog/evtx/evtxtest"
)

var when = time.Date(2026, 3, 1, 12, 0, 0, 123456700, time.UTC)

// read returns all events of a log, and what the reader says of it.
func read(t testing.TB, log []byte) ([]*evtx.Event, *evtx.Report) {
	t.Helper()
	r, err := evtx.NewReader(bytes.NewReader(log), int64(len(log)))
	if err != nil {
		t.Fatal(err)
	}
	var events []*evtx.Event
	for record, err := range r.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		brief, ok := record.System()
		e, err := record.Event()
		if diff := cmp.Diff(e.System, brief); ok && err == nil && diff != "" {
			t.Errorf("read in brief it is another event: %s", diff)
		}
		if e == nil {
			t.Fatalf("record %d: no event beside %v", record.ID, err)
		}
		events = append(events, e)
	}
	return events, r.Report()
}

// one reads a log of one record.
func one(t *testing.T, write func(*evtxtest.Builder)) *evtx.Event {
	t.Helper()
	events, report := read(t, evtxtest.File(evtxtest.Chunk(1, evtxtest.Record{Time: when, Write: write})))
	if len(events) != 1 || report.Damaged() || report.BadChecksums > 0 {
		t.Fatalf("%d events: %s", len(events), report)
	}
	return events[0]
}

func TestUsualEvent(t *testing.T) {
	events, report := read(t, evtxtest.Log(evtxtest.Event{
		ID: 7, Time: when, Provider: "Kernel", EventID: 41, Level: 1, Keywords: 0x8000400000000002, Channel: "System", Computer: "host",
		Data: []string{"BugcheckCode", "0", "Text", "über 😀 <&>"},
	}))
	if len(events) != 1 || report.Damaged() {
		t.Fatal(report)
	}
	e := events[0]
	want := evtx.System{
		Provider: evtx.Provider{Name: "Kernel"}, EventID: 41, Level: 1, Keywords: 0x8000400000000002, Time: when,
		RecordID: 7, Channel: "System", Computer: "host",
	}
	if diff := cmp.Diff(want, e.System); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]evtx.Field{{"BugcheckCode", "0"}, {"Text", "über 😀 <&>"}}, e.Data); diff != "" {
		t.Error(diff)
	}
	if x := e.XML(); !strings.Contains(x, `<Data Name="Text">über 😀 &lt;&amp;&gt;</Data>`) || !strings.Contains(x, "<Security/>") {
		t.Errorf("got %s", x)
	}
	again, err := evtx.ParseXML(e.XML())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e.System, again.System) + cmp.Diff(e.Data, again.Data); diff != "" {
		t.Errorf("as XML it is another event: %s", diff)
	}
}

func TestTokens(t *testing.T) {
	e := one(t, func(b *evtxtest.Builder) {
		b.Element("Event", nil, func() {
			b.Instruction("tool", "a?>b")
			b.Element("EventData", func() {
				b.Attr("a", func() { b.Value("x"); b.Entity("quot"); b.Char('é'); b.Value("\n") })
			}, func() {
				b.Element("Data", func() { b.Attr("Name", func() { b.Value("mixed") }) }, func() {
					b.Value("1")
					b.Entity("lt")
					b.Char(0x263a)
					b.CDATA("<raw>]]>")
					b.Entity("unknown")
				})
				b.Element("Odd name", nil, nil)
				b.Element("Data", nil, func() { b.Raw(0x05, 1, 3, 0, 'a', 0, 0x3d, 0xd8, 'b', 0) }) // half a pair
				b.Element("Data", nil, func() { b.Raw(0x05, 1, 2, 0, 1, 0, 0xff, 0xff) })
			})
		})
	})
	want := `<Event>
  <?tool a? >b?>
  <EventData a="x&quot;é&#10;">
    <Data Name="mixed">1&lt;☺<![CDATA[<raw>]]]]><![CDATA[>]]>&amp;unknown;</Data>
    <Odd_name/>
    <Data>a` + "\ufffd" + `b</Data>
    <Data>` + "\ufffd\ufffd" + `</Data>
  </EventData>
</Event>`
	if diff := cmp.Diff(want, e.XML()); diff != "" {
		t.Error(diff)
	}
	wellFormed(t, e.XML())
	if got := e.Get("mixed"); got != "1<☺<raw>]]>&unknown;" {
		t.Errorf("got %q", got)
	}
}

func wellFormed(t testing.TB, s string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, s)
		}
	}
}

// sid is S-1-5-21-1-2.
var sid = []byte{1, 3, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}

func TestValues(t *testing.T) {
	guid := []byte{0x78, 0x56, 0x34, 0x12, 0x34, 0x12, 0x78, 0x56, 1, 2, 3, 4, 5, 6, 7, 8}
	le := binary.LittleEndian
	ft := le.AppendUint64(nil, evtxtest.FileTime(when))
	system := []byte{0xea, 7, 3, 0, 0, 0, 1, 0, 12, 0, 30, 0, 5, 0, 7, 0}
	for _, tt := range []struct {
		name string
		kind byte
		data []byte
		want string // rows divided by |
	}{
		{"string", 1, evtxtest.UTF16("a\x00\x00"), "a"},
		{"ansi", 2, []byte("\x80\x9d\xe9\x00"), "€\ufffdé"},
		{"int8", 3, []byte{0xff}, "-1"},
		{"uint8", 4, []byte{0xff}, "255"},
		{"int16", 5, []byte{0xfe, 0xff}, "-2"},
		{"uint16", 6, []byte{0xfe, 0xff}, "65534"},
		{"int32", 7, []byte{0xfd, 0xff, 0xff, 0xff}, "-3"},
		{"uint32", 8, []byte{0xfd, 0xff, 0xff, 0xff}, "4294967293"},
		{"int64", 9, bytes.Repeat([]byte{0xff}, 8), "-1"},
		{"uint64", 10, bytes.Repeat([]byte{0xff}, 8), "18446744073709551615"},
		{"real32", 11, []byte{0, 0, 0xc0, 0x3f}, "1.5"},
		{"real64", 12, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0xbf}, "-1.5"},
		{"bool", 13, []byte{1, 0, 0, 0}, "true"},
		{"bool of one byte", 13, []byte{1}, "true"},
		{"binary", 14, []byte{0xde, 0xad}, "DEAD"},
		{"guid", 15, guid, "{12345678-1234-5678-0102-030405060708}"},
		{"size 32", 16, []byte{16, 0, 0, 0}, "0x10"},
		{"size 64", 16, []byte{16, 0, 0, 0, 1, 0, 0, 0}, "0x100000010"},
		{"file time", 17, ft, "2026-03-01T12:00:00.1234567Z"},
		{"far file time", 17, bytes.Repeat([]byte{0xff}, 8), "9999-12-31T23:59:59.9999999Z"},
		{"system time", 18, system, "2026-03-01T12:30:05.007Z"},
		{"sid", 19, sid, "S-1-5-21-1-2"},
		{"sid of a large authority", 19, []byte{1, 0, 1, 0, 0, 0, 0, 0}, "S-1-0x10000000000"},
		{"sid that is cut", 19, sid[:10], "01030000000000051500"},
		{"hex 32", 20, []byte{0xe7, 3, 0, 0}, "0x3e7"},
		{"hex 64", 21, []byte{0, 0, 0, 0, 0, 0, 0x20, 0x80}, "0x8020000000000000"},
		{"handle", 32, []byte{1, 0, 0, 0, 0, 0, 0, 0}, "0x1"},
		{"xml", 0x23, evtxtest.UTF16("<a/>"), "<a/>"},
		{"wrong size", 8, []byte{1, 2}, "0102"},
		{"unknown type", 0x55, []byte{1, 2}, "0102"},
		{"strings", 0x81, evtxtest.UTF16("a\x00\x00bc\x00"), "a||bc"},
		{"ansi strings", 0x82, []byte("a\x00b"), "a|b"},
		{"int16s", 0x85, []byte{1, 0, 0xff, 0xff}, "1|-1"},
		{"uint32s and a rest", 0x88, []byte{1, 0, 0, 0, 2, 0, 0, 0, 9}, "1|2|09"},
		{"guids", 0x8f, append(slices.Clone(guid), guid...), "{12345678-1234-5678-0102-030405060708}|{12345678-1234-5678-0102-030405060708}"},
		{"file times", 0x91, append(slices.Clone(ft), ft...), "2026-03-01T12:00:00.1234567Z|2026-03-01T12:00:00.1234567Z"},
		{"system times", 0x92, append(slices.Clone(system), system...), "2026-03-01T12:30:05.007Z|2026-03-01T12:30:05.007Z"},
		{"sids", 0x93, append(slices.Clone(sid), sid...), "S-1-5-21-1-2|S-1-5-21-1-2"},
		{"hex 32s", 0x94, []byte{1, 0, 0, 0, 255, 0, 0, 0}, "0x1|0xff"},
		{"bools", 0x8d, []byte{1, 0, 0, 0, 0, 0, 0, 0}, "true|false"},
		{"reals", 0x8b, []byte{0, 0, 0xc0, 0x3f, 0, 0, 0xc0, 0x3f}, "1.5|1.5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := one(t, func(b *evtxtest.Builder) {
				b.Template("t", []evtxtest.Value{{Kind: tt.kind, Data: tt.data}}, func() {
					b.Element("Event", nil, func() {
						b.Element("EventData", nil, func() {
							b.Element("Data", func() { b.Attr("Name", func() { b.Value("n") }) }, func() { b.Substitution(0, tt.kind, false) })
						})
					})
				})
			})
			var rows []string
			for _, f := range e.Data {
				if f.Name != "n" {
					t.Errorf("the row %v has lost its name", f)
				}
				rows = append(rows, f.Value)
			}
			if got := strings.Join(rows, "|"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			wellFormed(t, e.XML())
		})
	}
}

// TestSubstitutions: a value that is not there takes its attribute with it, and where
// it is optional its element.
func TestSubstitutions(t *testing.T) {
	e := one(t, func(b *evtxtest.Builder) {
		b.Template("t", []evtxtest.Value{{Kind: 0}, {Kind: 1, Data: evtxtest.UTF16("v")}, {Kind: 0x81, Data: evtxtest.UTF16("x\x00y\x00")}}, func() {
			b.Element("Event", nil, func() {
				b.Element("A", func() {
					b.Attr("gone", func() { b.Substitution(0, 1, true) })
					b.Attr("there", func() { b.Substitution(1, 1, true) })
					b.Attr("row", func() { b.Substitution(2, 0x81, false) })
				}, nil)
				b.Element("Gone", nil, func() { b.Substitution(0, 1, true) })
				b.Element("Empty", nil, func() { b.Substitution(0, 1, false) })
				b.Element("None", nil, func() { b.Substitution(99, 1, false) })
				b.Element("Mixed", nil, func() { b.Value("<"); b.Substitution(2, 0x81, false) })
				b.Element("Front", nil, func() { b.Substitution(2, 0x81, false); b.Value(">") })
			})
		})
	})
	want := `<Event>
  <A there="v" row="x, y"/>
  <Empty/>
  <None/>
  <Mixed>&lt;xy</Mixed>
  <Front>xy&gt;</Front>
</Event>`
	if diff := cmp.Diff(want, e.XML()); diff != "" {
		t.Error(diff)
	}
}

// TestTemplates: the second record uses the definition that the first one holds, and
// a value holds a fragment with a template of its own.
func TestTemplates(t *testing.T) {
	write := func(b *evtxtest.Builder) {
		inner := func() {
			b.Template("inner", []evtxtest.Value{{Kind: 8, Data: []byte{5, 0, 0, 0}}}, func() {
				b.Element("Wrapper", nil, func() {
					b.Element("Outcome", func() { b.Attr("Code", func() { b.Substitution(0, 8, false) }) }, func() { b.Value("deep") })
				})
			})
		}
		b.Template("outer", []evtxtest.Value{{Kind: 0x21, Fragment: inner}}, func() {
			b.Element("Event", nil, func() {
				b.Element("UserData", nil, func() { b.Substitution(0, 0x21, true) })
			})
		})
	}
	events, report := read(t, evtxtest.File(evtxtest.Chunk(1, evtxtest.Record{Write: write}, evtxtest.Record{Write: write})))
	if report.Damaged() || len(events) != 2 {
		t.Fatalf("%d events, %s", len(events), report)
	}
	for _, e := range events {
		if diff := cmp.Diff([]evtx.Field{{"Outcome.Code", "5"}, {"Outcome", "deep"}}, e.Data); diff != "" {
			t.Errorf("%s\n%s", diff, e.XML())
		}
	}
}

func TestUserDataIsFlattened(t *testing.T) {
	e := one(t, func(b *evtxtest.Builder) {
		b.Element("Event", nil, func() {
			b.Element("UserData", nil, func() {
				b.Element("LogFileCleared", func() { b.Attr("xmlns", func() { b.Value("urn:x") }) }, func() {
					b.Element("SubjectUserName", nil, func() { b.Value("admin") })
					b.Element("Where", func() { b.Attr("unit", func() { b.Value("u") }) }, func() {
						b.Element("Disk", nil, func() { b.Value("C") })
						b.Element("Disk", nil, func() { b.Value("D") })
					})
				})
			})
		})
	})
	want := []evtx.Field{{"SubjectUserName", "admin"}, {"Where.unit", "u"}, {"Where.Disk", "C"}, {"Where.Disk", "D"}}
	if diff := cmp.Diff(want, e.Data); diff != "" {
		t.Error(diff)
	}
}

func TestComplexData(t *testing.T) {
	e := one(t, func(b *evtxtest.Builder) {
		b.Element("Event", nil, func() {
			b.Element("EventData", nil, func() {
				b.Element("ComplexData", func() {
					b.Attr("Name", func() { b.Value("Rule") })
					b.Attr("Name", func() { b.Value("again") })
				}, func() {
					b.Element("Port", nil, func() { b.Value("80\r\n81") })
				})
				b.Element("Binary", nil, func() { b.Value("FF") })
			})
		})
	})
	if diff := cmp.Diff([]evtx.Field{{"Rule.Port", "80\r\n81"}, {"Binary", "FF"}}, e.Data); diff != "" {
		t.Error(diff)
	}
	if x := e.XML(); !strings.Contains(x, `<ComplexData Name="Rule">`) || !strings.Contains(x, "80&#13;\n81") {
		t.Errorf("got %s", x)
	}
}

func TestRenderingInfo(t *testing.T) {
	e, err := evtx.ParseXML(`<Event xmlns="x"><System><EventID>5</EventID></System>
	<RenderingInfo Culture="en-US"><Message> It
works. </Message><Level>Error</Level><Task>T</Task><Opcode/></RenderingInfo></Event>`)
	if err != nil || e.Rendering.Message != "It\nworks." || e.Rendering.Level != "Error" {
		t.Fatalf("%v %+v", err, e)
	}
	if _, err := evtx.ParseXML("<Event>" + strings.Repeat("<a>", 1000)); err == nil || !strings.Contains(err.Error(), "parts") {
		t.Errorf("depth: %v", err)
	}
	for _, bad := range []string{"", "<a/>", "<Event", strings.Repeat("<a>", 1000), "x" + strings.Repeat("y", 5<<20)} {
		if _, err := evtx.ParseXML(bad); err == nil {
			t.Errorf("%.20q was taken", bad)
		}
	}
}

// TestSamples reads real files, and has what their project counts in them.
func TestSamples(t *testing.T) {
	for name, want := range map[string]struct {
		records, missing, bad int // the last one of those two was not written to its end
	}{
		"Application_no_crc32.evtx":                             {17, 0, 0},
		"Microsoft-Windows-HelloForBusiness%4Operational.evtx":  {6, 14, 1},
		"Microsoft-Windows-LanguagePackSetup%4Operational.evtx": {17, 3, 1},
		"Security_short_selected.evtx":                          {7, 0, 0},
		"issue_201.evtx":                                        {1, 0, 0},
		"new-user-security.evtx":                                {4, 0, 0},
	} {
		log, err := os.ReadFile(filepath.Join("..", "testdata", "logs", name))
		if err != nil {
			t.Fatal(err)
		}
		events, r := read(t, log)
		if len(events) != want.records || r.Missing != want.missing || r.BadRecords != want.bad || r.BadChunks != 0 {
			t.Errorf("%s: %d events, %s", name, len(events), r)
		}
		for i, e := range events {
			wellFormed(t, e.XML())
			if e.System.Time.Year() < 2010 {
				t.Errorf("%s: time %s", name, e.System.Time)
			}
			if i >= want.records-want.bad {
				continue
			}
			if e.System.Provider.Name == "" || e.System.Channel == "" || e.System.Computer == "" {
				t.Errorf("%s: incomplete event %+v", name, e.System)
			}
		}
	}
}

func TestCancelled(t *testing.T) {
	log := evtxtest.Log(evtxtest.Event{Time: when})
	r, err := evtx.NewReader(bytes.NewReader(log), int64(len(log)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range r.Records(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}
