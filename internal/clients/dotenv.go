package clients

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/source"
)

// AddEnv plans how secrets come into a file .env. Those that are in it stay; the
// file is for its owner alone afterwards, whatever it was. The error names a
// secret that would not be read again as it is.
func AddEnv(path string, secrets []Secret) (Change, error) {
	data, existed, err := readFile(path)
	if err != nil {
		return Change{}, err
	}
	there, _ := source.ParseDotenv(source.NewFile(path, 1), data)
	eol := lineEnd(data)
	after := bytes.Clone(data)
	for _, s := range secrets {
		if _, ok := there[s.Name]; ok {
			continue
		}
		if len(after) > 0 && !bytes.HasSuffix(after, []byte("\n")) {
			after = append(after, eol...)
		}
		after = append(after, s.Name+"="+dotenvValue(s.Value)+eol...)
	}
	read, _ := source.ParseDotenv(source.NewFile(path, 1), after)
	for _, s := range secrets {
		if _, ok := there[s.Name]; !ok && read[s.Name] != s.Value {
			return Change{}, fmt.Errorf("%s cannot hold the value of %s of the server %s, so nothing is written: it would be read as another one", path, s.Key, s.Server)
		}
	}
	return Change{Path: path, Before: data, After: after, Existed: existed, Mode: 0o600, private: true}, nil
}

// dotenvValue writes a value in double quotes, which hold any text.
func dotenvValue(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}
