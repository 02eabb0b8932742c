package dockerhost

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxFile bounds the files of the docker command that are read.
const maxFile = 1 << 20

// maxContexts bounds how many contexts are looked through for their names.
const maxContexts = 200

var contextName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.+-]{0,127}$`) })

// config returns the folder of the docker command's configuration.
func (o Options) config() string {
	if dir := o.getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	return filepath.Join(o.home(), ".docker")
}

// currentContext returns the context that the docker command would use; "" is
// its default.
func (o Options) currentContext() (string, error) {
	file := filepath.Join(o.config(), "config.json")
	b, err := read(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	var c struct {
		CurrentContext string `json:"currentContext"`
	}
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", file, err)
	}
	if c.CurrentContext == "default" {
		return "", nil
	}
	return c.CurrentContext, nil
}

// A contextFile is the meta.json of one context.
type contextFile struct {
	Name      string `json:"Name"`
	Endpoints map[string]struct {
		Host          string `json:"Host"`
		SkipTLSVerify bool   `json:"SkipTLSVerify"`
	} `json:"Endpoints"`
}

// context returns the engine of a context. Its folder is named after the hash of
// its name, so that no name leads elsewhere.
func (o Options) context(name, from string) (Host, error) {
	if name == "default" {
		return Host{}, nil
	}
	if !contextName().MatchString(name) {
		return Host{}, fmt.Errorf("%s: %.80q is no name of a context", from, name)
	}
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	c, err := readContext(filepath.Join(o.config(), "contexts", "meta", id, "meta.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Host{}, fmt.Errorf("%s: there is no context %q in %s%s", from, name, o.config(), o.others())
	case err != nil:
		return Host{}, fmt.Errorf("%s: context %q: %w", from, name, err)
	}
	docker, ok := c.Endpoints["docker"]
	if !ok || docker.Host == "" {
		return Host{}, fmt.Errorf("%s: context %q names no engine", from, name)
	}
	from = fmt.Sprintf("context %s, from %s", name, from)
	if folder := filepath.Join(o.config(), "contexts", "tls", id, "docker"); o.CertPath == "" && isFolder(folder) {
		o.CertPath = folder
	}
	if docker.SkipTLSVerify && o.TLS == "" {
		o.TLS = TLSUnverified
	}
	// Certificates of a context are its own, whatever the environment names.
	bare := o
	bare.Getenv = func(string) string { return "" }
	return bare.address(docker.Host, from)
}

func readContext(file string) (contextFile, error) {
	var c contextFile
	b, err := read(file)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	return c, err
}

// others names the contexts that there are, for an error.
func (o Options) others() string {
	files, _ := filepath.Glob(filepath.Join(o.config(), "contexts", "meta", "*", "meta.json")) // the pattern is right
	var names []string
	for _, f := range files[:min(len(files), maxContexts)] {
		if c, err := readContext(f); err == nil && contextName().MatchString(c.Name) {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return "; there are none"
	}
	slices.Sort(names)
	return "; there are: " + strings.Join(names[:min(len(names), 20)], ", ")
}

func isFolder(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.IsDir()
}

func read(file string) ([]byte, error) {
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = errors.New("the file is larger than 1 MiB")
	}
	return b, err
}
