package winlog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/servers/winlog"
	"github.com/tenon-mcp/tenon/servers/winlog/evtx"
)

// TestMessages: what is said of events whose log does not bring their texts.
func TestMessages(t *testing.T) {
	const security = "Microsoft-Windows-Security-Auditing"
	for _, tt := range []struct {
		provider string
		id       uint32
		data     []evtx.Field
		want     string
	}{
		{"Microsoft-Windows-Kernel-Power", 41, named("BugcheckCode", "159"), "crashed, hung or lost power. Bugcheck code 159"},
		{"User32", 1074, positional("C:\\Windows\\explorer.exe", "PC", "Other", "0x0", "restart", "", "PC\\a"), "explorer.exe ordered a restart of PC for PC\\a. Reason: Other (0x0). Comment: -"},
		{security, 4624, named("TargetUserName", "a", "TargetDomainName", "D", "LogonType", "10", "IpAddress", "10.0.0.1"), `D\a logged on, type 10 (remote desktop), from 10.0.0.1`},
		{security, 4625, named("TargetUserName", "a", "LogonType", "3", "SubStatus", "0xC000006A"), "could not log on, type 3 (over the network), from - -: 0xC000006A (wrong password)"},
		{security, 4688, named("NewProcessName", "x.exe", "CommandLine", "x.exe -a"), "started x.exe"},
		{security, 4720, named("TargetUserName", "new", "SubjectUserName", "admin"), `\admin created the user account`},
		{"EventLog", 6005, nil, "service started"},
		{"EventLog", 6006, nil, "clean shutdown"},
		{"EventLog", 6008, positional("11:22", "1/2/2026"), "at 11:22 on 1/2/2026, was unexpected"},
		{"Service Control Manager", 7034, named("param1", "Spooler", "param2", "3"), "The service Spooler ended unexpectedly, 3 times"},
		{"Service Control Manager", 7036, named("param1", "Spooler", "param2", "stopped"), "The service Spooler is now stopped."},
		{"Service Control Manager", 7045, named("ServiceName", "evil", "ImagePath", "c:\\e.exe"), "A service was installed: evil, file c:\\e.exe"},
		{"Application Error", 1000, positional("a.exe", "1.0", "t", "m.dll", "2.0", "t", "c0000005", "0x12"), "The program a.exe 1.0 crashed in m.dll 2.0: exception c0000005 at offset 0x12"},
		{"Application Error", 1000, named("AppName", "b.exe", "ModuleName", "n.dll"), "The program b.exe - crashed in n.dll"},
		{"Windows Error Reporting", 1001, positional("1", "2", "APPCRASH", "none", "c", "a.exe"), "A fault was reported: APPCRASH, a.exe"},
		{"Microsoft-Windows-WER-SystemErrorReporting", 1001, named("param1", "0x9f", "param2", "m.dmp"), "after a bugcheck: 0x9f. Dump: m.dmp"},
		{"Microsoft-Windows-Eventlog", 1102, named("SubjectUserName", "a", "SubjectDomainName", "D"), `cleared by D\a`},
		{"Somebody", 41, named("a", "1", "empty", "", "", "x y", "dash", "-"), "a=1, x y"},
		{"Somebody", 1, nil, "(no message and no data)"},
	} {
		e := &evtx.Event{Data: tt.data}
		e.System.Provider.Name, e.System.EventID = tt.provider, tt.id
		if got := winlog.Message(e); !strings.Contains(got, tt.want) {
			t.Errorf("%s %d: got %q, want %q", tt.provider, tt.id, got, tt.want)
		}
	}
	e := &evtx.Event{Rendering: evtx.Rendering{Message: "its own text"}, Data: positional("x")}
	if got := winlog.Message(e); got != "its own text" {
		t.Errorf("got %q", got)
	}
}

func named(pairs ...string) []evtx.Field {
	var list []evtx.Field
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, evtx.Field{Name: pairs[i], Value: pairs[i+1]})
	}
	return list
}

func positional(values ...string) []evtx.Field {
	var list []evtx.Field
	for _, v := range values {
		list = append(list, evtx.Field{Value: v})
	}
	return list
}

func TestXPath(t *testing.T) {
	for _, tt := range []struct{ level, ids, provider, start, end, want string }{
		{"Error", "", "", "2026-03-01", "", "*[System[(Level=1 or Level=2) and TimeCreated[@SystemTime>='2026-03-01T00:00:00.000Z']]]"},
		{"Critical", "", "", "", "2026-03-01", "*[System[Level=1 and TimeCreated[@SystemTime<='2026-03-02T00:00:00.000Z']]]"},
		{"Information", "", "", "2026-03-01T10:00:00.5Z", "2026-03-01T10:00:00.7Z", "*[System[(Level=0 or Level=1 or Level=2 or Level=3 or Level=4) and TimeCreated[@SystemTime>='2026-03-01T10:00:00.500Z' and @SystemTime<='2026-03-01T10:00:00.701Z']]]"},
		{"AuditFailure", "", "", "2026-03-01", "", "*[System[band(Keywords,4503599627370496) and TimeCreated[@SystemTime>='2026-03-01T00:00:00.000Z']]]"},
		{"AuditSuccess", "", "", "2026-03-01", "", "*[System[band(Keywords,9007199254740992) and TimeCreated[@SystemTime>='2026-03-01T00:00:00.000Z']]]"},
		{"Verbose", "1,3,5-9,-7", "", "2026-03-01", "", "*[System[TimeCreated[@SystemTime>='2026-03-01T00:00:00.000Z'] and (EventID=1 or EventID=3 or (EventID>=5 and EventID<=9)) and not(EventID=7)]]"},
		{"Verbose", "", "O'Neill's", "2026-03-01", "", `*[System[TimeCreated[@SystemTime>='2026-03-01T00:00:00.000Z'] and Provider[@Name="O'Neill's"]]]`},
		{"Verbose", "", `'"] or *`, "2026-03-01", "", "*[System[TimeCreated[@SystemTime>='2026-03-01T00:00:00.000Z']]]"},
		{"Verbose", "", "x']] | *[System[y='", "2026-03-01", "", `*[System[TimeCreated[@SystemTime>='2026-03-01T00:00:00.000Z'] and Provider[@Name="x']] | *[System[y='"]]]`},
		{"Error", strings.Repeat("5,", 30), "", "2026-03-01", "", "*[System[(Level=1 or Level=2) and TimeCreated[@SystemTime>='2026-03-01T00:00:00.000Z']]]"},
	} {
		got, err := winlog.XPath(tt.level, tt.ids, tt.provider, tt.start, tt.end)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v: %s", tt, diff)
		}
	}
}
