package proc_test

import (
	"slices"
	"testing"

	"github.com/tenon-mcp/tenon/internal/proc"
)

func TestEnviron(t *testing.T) {
	for _, tt := range []struct {
		name, goos string
		parent     []string
		declared   map[string]string
		want       []string
	}{
		{name: "nothing", goos: "linux"},
		{
			name: "only what a runtime needs", goos: "linux",
			parent: []string{
				"PATH=/bin", "HOME=/home/u", "USER=u", "LOGNAME=u", "SHELL=/bin/sh", "LANG=de_DE.UTF-8",
				"LC_ALL=C", "LC_TIME=C", "TZ=UTC", "TMPDIR=/t", "TERM=xterm",
				"OPENAI_API_KEY=sk-1", "AWS_SECRET_ACCESS_KEY=x", "HTTPS_PROXY=http://u:p@h", "https_proxy=http://u:p@h",
				"NODE_OPTIONS=--require /x.js", "LD_PRELOAD=/x.so", "PYTHONPATH=/x", "SSH_AUTH_SOCK=/s", "LCX=1", "PATHX=1", "_=x",
			},
			want: []string{
				"HOME=/home/u", "LANG=de_DE.UTF-8", "LC_ALL=C", "LC_TIME=C", "LOGNAME=u", "PATH=/bin",
				"SHELL=/bin/sh", "TMPDIR=/t", "TZ=UTC", "USER=u",
			},
		},
		{
			name: "what is declared wins, also when it is empty", goos: "linux",
			parent:   []string{"PATH=/bin", "HOME=/home/u", "TOKEN=of the parent"},
			declared: map[string]string{"PATH": "/opt/bin", "HOME": "", "TOKEN": "a=b"},
			want:     []string{"HOME=", "PATH=/opt/bin", "TOKEN=a=b"},
		},
		{
			name: "empty values, functions and what is no variable stay", goos: "darwin",
			parent: []string{"PATH=", "SHELL=() { :; }", "HOME", "", "USER=u", "=C:=x"},
			want:   []string{"USER=u"},
		},
		{
			name: "the last of two counts, and case does", goos: "linux",
			parent: []string{"PATH=/one", "PATH=/two", "path=/three", "Home=/x"},
			want:   []string{"PATH=/two"},
		},
		{
			name: "a gateway below another hands on the mark", goos: "linux",
			parent: []string{"TENON_TREE=a.1;", "TENON_CONFIG=x"},
			want:   []string{"TENON_TREE=a.1;"},
		},
		{
			name: "Windows", goos: "windows",
			parent: []string{
				`=C:=C:\x`, `Path=C:\bin`, `SystemRoot=C:\Windows`, `ComSpec=C:\cmd.exe`, "PATHEXT=.EXE", `APPDATA=C:\a`,
				`LOCALAPPDATA=C:\l`, `USERPROFILE=C:\u`, `ProgramFiles=C:\p`, `ProgramFiles(x86)=C:\p86`, `TEMP=C:\t`, `TMP=C:\t`,
				"API_KEY=x", `HOME=C:\msys`,
			},
			declared: map[string]string{"PATH": `D:\bin`, "Token": "1"},
			want: []string{
				`APPDATA=C:\a`, `ComSpec=C:\cmd.exe`, `LOCALAPPDATA=C:\l`, `PATH=D:\bin`, "PATHEXT=.EXE", `ProgramFiles=C:\p`,
				`ProgramFiles(x86)=C:\p86`, `SystemRoot=C:\Windows`, `TEMP=C:\t`, `TMP=C:\t`, "Token=1", `USERPROFILE=C:\u`,
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 5 { // the order never depends on that of a map
				if got := proc.EnvironOf(tt.goos, tt.parent, tt.declared); !slices.Equal(got, tt.want) {
					t.Fatalf("got  %q\nwant %q", got, tt.want)
				}
			}
		})
	}
}
