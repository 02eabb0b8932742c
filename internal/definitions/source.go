package definitions

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Source says what a server is, so that another one in its place is noticed. It
// holds no secret.
type Source struct {
	Kind    string // bundled, command or url
	Run     string // the command line, the address, or the name of a bundled server
	Package string // npm:name, pypi:name or image:name, where a package is run
	Version string // of the package; empty where the newest one is run
	// Reported is the name and version that the server gives itself.
	Reported string
	// File is the path within the folder of the configuration of the program or script
	// that is run, and Sum its SHA-256. Both are empty for what the machine brings.
	File, Sum string
}

// fields are the parts of a source by their names in the file, sorted.
func (s *Source) fields() []struct {
	name  string
	value *string
} {
	return []struct {
		name  string
		value *string
	}{
		{"file", &s.File},
		{"kind", &s.Kind},
		{"package", &s.Package},
		{"reported", &s.Reported},
		{"run", &s.Run},
		{"sha256", &s.Sum},
		{"version", &s.Version},
	}
}

// Floating reports whether a package is run in whatever version is the newest, so
// that nobody can say which one was accepted.
func (s *Source) Floating() bool { return s.Package != "" && s.Version == "" }

// Command returns the source of a command. Texts are those to be shown: secrets are
// hidden in them already. dir is the folder of the configuration.
func Command(dir, command string, args []string) Source {
	s := Source{Kind: "command"}
	words := []string{within(dir, command)}
	hide := false
	for _, a := range args {
		if hide {
			a = hidden
		} else if name, _, ok := strings.Cut(a, "="); ok && strings.HasPrefix(a, "-") && isSecretName(name) {
			a = name + "=" + hidden
		}
		hide = strings.HasPrefix(a, "-") && !strings.Contains(a, "=") && isSecretName(a)
		words = append(words, word(within(dir, a)))
	}
	s.Run = strings.Join(words, " ")
	s.Package, s.Version = packageOf(command, args)
	if s.Package == "" {
		s.File = script(dir, command, args)
		s.Sum = sum(filepath.Join(dir, s.File))
		if s.Sum == "" {
			s.File = ""
		}
	}
	return s
}

const hidden = "•••"

// URL returns the source of an address: without its user, and with the names but not
// the values of its query.
func URL(address string) Source {
	s := Source{Kind: "url", Run: address}
	u, err := url.Parse(address)
	if err != nil {
		s.Run, _, _ = strings.Cut(address, "?")
		return s
	}
	var names []string
	for name := range u.Query() {
		names = append(names, url.QueryEscape(name)+"="+hidden)
	}
	slices.Sort(names)
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	s.Run = u.String()
	if len(names) > 0 {
		s.Run += "?" + strings.Join(names, "&")
	}
	return s
}

// within returns a path in dir as seen from there, so that the file is the same on
// all machines.
func within(dir, p string) string {
	if dir == "" || !filepath.IsAbs(p) {
		return p
	}
	rel, err := filepath.Rel(dir, p)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return p
	}
	return "./" + filepath.ToSlash(rel)
}

// word quotes an argument where it would not be one otherwise.
func word(a string) string {
	if a == "" || strings.ContainsAny(a, " \t\n'\"") {
		return "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return a
}

func isSecretName(flag string) bool {
	flag = strings.ToLower(flag)
	return slices.ContainsFunc([]string{"key", "token", "secret", "passw", "auth", "credential"}, func(w string) bool {
		return strings.Contains(flag, w)
	})
}

// program returns the name of a command without folder and ending.
func program(command string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, ending := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// A packageRunner runs a package that its arguments name.
type packageRunner struct {
	words  []string // that come before the package, any of them
	naming []string // flags whose value is the package
	taking []string // other flags that have a value
	system string
}

var nodeRunner = packageRunner{naming: []string{"-p", "--package"}, taking: []string{"-c", "--call", "-w", "--workspace", "--registry"}, system: "npm"}

// packageRunners are those whose packages have a version in their name.
func packageRunners(name string) (packageRunner, bool) {
	with := func(r packageRunner, words ...string) (packageRunner, bool) { r.words = words; return r, true }
	python := packageRunner{
		naming: []string{"--from", "--spec"}, system: "pypi",
		taking: []string{"--with", "-p", "--python", "--index-url", "--default-index", "--index", "--directory", "--project"},
	}
	image := packageRunner{system: "image", taking: []string{
		"-e", "--env", "-v", "--volume", "--mount", "--name", "--network", "--net", "-p", "--publish", "-u", "--user",
		"-w", "--workdir", "--env-file", "--entrypoint", "--platform", "--add-host", "-m", "--memory", "--cpus", "--pull",
	}}
	switch name {
	case "npx", "pnpx", "bunx":
		return with(nodeRunner)
	case "npm", "pnpm", "yarn", "bun":
		return with(nodeRunner, "exec", "x", "dlx")
	case "uvx":
		return with(python)
	case "uv":
		return with(python, "tool")
	case "pipx":
		return with(python, "run")
	case "docker", "podman", "nerdctl":
		return with(image, "run")
	}
	return packageRunner{}, false
}

// packageOf returns the package that a command line runs, such as npm:name, and its
// version.
func packageOf(command string, args []string) (name, version string) {
	runner := program(command)
	if runner == "cmd" && len(args) > 1 && strings.EqualFold(args[0], "/c") { // as desktop clients on Windows write it
		return packageOf(args[1], args[2:])
	}
	r, ok := packageRunners(runner)
	if !ok {
		return "", ""
	}
	spec := r.spec(args)
	if spec == "" {
		return "", ""
	}
	name, version = split(r.system, spec)
	return r.system + ":" + name, version
}

// spec returns the package as the arguments name it.
func (r packageRunner) spec(args []string) string {
	before := len(r.words) > 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, value, assigned := strings.Cut(a, "=")
		switch {
		case slices.Contains(r.naming, name) && assigned:
			return value
		case slices.Contains(r.naming, a) && i+1 < len(args):
			return args[i+1]
		case slices.Contains(r.taking, a):
			i++
		case strings.HasPrefix(a, "-"):
		case before && slices.Contains(r.words, a):
			before = false
			if i+1 < len(args) && r.system == "pypi" && args[i] == "tool" && args[i+1] == "run" {
				i++
			}
		case before:
			return "" // another command of the program
		default:
			return a
		}
	}
	return ""
}

// split returns the name and the version of a package. A tag that moves is none.
func split(system, spec string) (name, version string) {
	name = spec
	switch system {
	case "npm":
		if i := strings.LastIndexByte(spec, '@'); i > 0 {
			name, version = spec[:i], spec[i+1:]
		}
	case "pypi":
		if i := strings.Index(spec, "=="); i > 0 {
			name, version = spec[:i], strings.TrimLeft(spec[i:], "=")
		} else if i := strings.LastIndexByte(spec, '@'); i > 0 {
			name, version = spec[:i], spec[i+1:]
		}
	case "image":
		if i := strings.IndexByte(spec, '@'); i > 0 {
			name, version = spec[:i], spec[i+1:]
		} else if i := strings.LastIndexByte(spec, ':'); i > strings.LastIndexByte(spec, '/') {
			name, version = spec[:i], spec[i+1:]
		}
	}
	if version == "latest" || version == "next" || strings.ContainsAny(version, "^~*x><") && system != "image" {
		version = ""
	}
	return strings.TrimSpace(name), strings.TrimSpace(version)
}

// interpreters run a file of the project that their first argument names.
var interpreters = []string{"node", "deno", "bun", "python", "python3", "ruby", "php", "perl", "bash", "sh", "uv", "tsx", "java"}

// script returns the file within dir that a command line runs, or "".
func script(dir, command string, args []string) string {
	if file := inFolder(dir, command); file != "" {
		return file
	}
	if !slices.Contains(interpreters, program(command)) {
		return ""
	}
	for _, a := range args {
		if file := inFolder(dir, a); file != "" && !strings.HasPrefix(a, "-") {
			return file
		}
	}
	return ""
}

// inFolder returns the path of a file from dir, where it is in there.
func inFolder(dir, p string) string {
	if dir == "" || !strings.ContainsAny(p, `./\`) {
		return ""
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	rel := within(dir, p)
	if !strings.HasPrefix(rel, "./") {
		return ""
	}
	if info, err := os.Stat(p); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return ""
	}
	return rel
}

const maxFile = 256 << 20

// sum returns the SHA-256 of a file, or "" where it cannot be read.
func sum(file string) string {
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxFile)); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
