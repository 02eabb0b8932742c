package proc

import (
	"maps"
	"runtime"
	"slices"
	"strings"
)

// Environ returns the environment of a child: from parent only what a program
// needs to find its runtime, its user's folders and its language, and all of
// declared, which wins. The result is sorted by name and has every name once.
//
// On Unix these are inherited: PATH; HOME, USER, LOGNAME and SHELL, from which
// runtimes find caches and settings, and the XDG_*_HOME that name them; LANG, LANGUAGE, LC_* and TZ, so that texts
// and times read as the operator expects; TMPDIR. On Windows the folders of the
// system, its programs and the user, without which no runtime starts there.
//
// Not inherited is everything else, and these on purpose: keys and tokens,
// which is what this is for; proxies (HTTP_PROXY and its like often hold a
// password); TERM, as a child has no terminal; variables that make a runtime
// load code (NODE_OPTIONS, PYTHONPATH, LD_PRELOAD). Declare what a server
// needs. An empty value is not inherited, nor is an exported shell function.
// TENON_TREE, by which a tree is known, is handed on where there is one.
func Environ(parent []string, declared map[string]string) []string {
	return environ(runtime.GOOS, parent, declared)
}

func environ(goos string, parent []string, declared map[string]string) []string {
	fold := func(name string) string { return name }
	names := inheritedUnix
	if goos == "windows" {
		fold, names = strings.ToUpper, inheritedWindows
	}
	chosen := make(map[string]string) // by folded name: "NAME=value"
	for _, kv := range parent {
		name, value, _ := strings.Cut(kv, "=")
		key := fold(name)
		known := slices.Contains(names, key) || strings.HasPrefix(key, "LC_")
		if known && value != "" && !strings.HasPrefix(value, "()") {
			chosen[key] = kv
		}
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		chosen[fold(name)] = name + "=" + declared[name]
	}
	out := make([]string, 0, len(chosen))
	for _, key := range slices.Sorted(maps.Keys(chosen)) {
		out = append(out, chosen[key])
	}
	return out
}

// markName is inherited so that the trees of a gateway that runs below another
// carry the marks of both.
var inheritedUnix = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", markName,
}

var inheritedWindows = []string{
	"PATH", "PATHEXT", "COMSPEC", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "OS",
	"HOMEDRIVE", "HOMEPATH", "USERPROFILE", "USERNAME", "USERDOMAIN", "PUBLIC",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "ALLUSERSPROFILE",
	"PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432",
	"COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432",
	"NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "PROCESSOR_IDENTIFIER",
	"TEMP", "TMP", "LANG", "LANGUAGE", "TZ",
}
