package proc

import "testing"

// Arguments that would run a second command if a batch file saw them unquoted.
func TestBatchLine(t *testing.T) {
	const start = `cmd.exe /e:ON /v:OFF /d /c ""C:\a b\npx.cmd"`
	for _, tt := range []struct{ arg, want string }{
		{`plain-arg`, `plain-arg`},
		{``, `""`},
		{`a b`, `"a b"`},
		{`a&calc`, `"a&calc"`},
		{`a"&calc`, `"a""&calc"`},
		{`%PATH%`, `"%%cd:~,%PATH%%cd:~,%"`},
		{`^|<>()!`, `"^|<>()!"`},
		{`C:\dir\`, `"C:\dir\\"`},
		{`C:\dir\"x`, `"C:\dir\\""x"`},
		{`@scope/pkg`, `@scope/pkg`},
	} {
		got, err := batchLine(`C:\a b\npx.cmd`, []string{tt.arg})
		if want := start + " " + tt.want + `"`; err != nil || got != want {
			t.Errorf("%q: got  %s, %v\nwant %s", tt.arg, got, err, want)
		}
	}
	for _, bad := range []string{"a\nb", "a\rb"} {
		if _, err := batchLine(`C:\npx.cmd`, []string{bad}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
