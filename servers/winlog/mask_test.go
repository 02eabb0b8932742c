package winlog_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/servers/winlog/evtx/evtxtest"
)

// TestMasks shows no secret of a command line, a script or a field, and finds none.
func TestMasks(t *testing.T) {
	started := at(30, "Microsoft-Windows-Security-Auditing", 4688, 0, 0, "NewProcessName", `C:\app.exe`, "CommandLine", `"C:\app.exe" --password="WINSECRET1" --user bob`)
	script := at(20, "Microsoft-Windows-PowerShell", 4104, 3, 0, "ScriptBlockText", "$password = 'WINSECRET2'\r\nInvoke-RestMethod -Headers @{ Authorization = 'Bearer WINSECRET3' }\r\nWrite-Host done")
	field := at(10, "P", 7, 2, 0, "ServicePassword", "WINSECRET4", "", "postgres://u:WINSECRET5@db/x", "Port", "5432")
	srv := folder(t, map[string][]byte{"System.evtx": evtxtest.Log(started, script, field)})
	all := args{"level": "Verbose"}
	for _, a := range []answer{call(t, srv, "query_windows_event", all), call(t, srv, "get_event_by_record_id", args{"record_id": 1}), call(t, srv, "get_event_by_record_id", args{"record_id": 2}), call(t, srv, "get_event_by_record_id", args{"record_id": 3})} {
		said := a.text
		for _, e := range a.data.Events {
			said += "\n" + e.Message + "\n" + e.XML
			for _, d := range e.Data {
				said += "\n" + d.Name + "=" + d.Value
			}
		}
		if a.isError || len(a.data.Events) == 0 || strings.Contains(said, "WINSECRET") {
			t.Errorf("a secret is shown: %s", said)
		}
		if strings.Count(said, "•••") == 0 {
			t.Errorf("nothing is masked: %s", said)
		}
	}
	for text, want := range map[string]int{"winsecret": 0, "=win": 0, "'win": 0, "u:w": 0, "--password=": 1, "write-host done": 1, "5432": 1, "•••": 3, "user bob": 1} {
		a := call(t, srv, "query_windows_event", args{"level": "Verbose", "text": text})
		if len(a.data.Events) != want {
			t.Errorf("%q finds %d events, want %d: %s", text, len(a.data.Events), want, a.text)
		}
		if n := call(t, srv, "event_statistics", args{"text": text}).data.Total; n != want {
			t.Errorf("%q counts %d events, want %d", text, n, want)
		}
	}
}
