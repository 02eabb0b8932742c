package secrets

import (
	"encoding/json"
	"strings"
)

// quoteEnv writes a value as a file .env does.
func quoteEnv(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "$", `\$`).Replace(s) + `"`
}

// quoteYAML writes a value as JSON does, which YAML reads.
func quoteYAML(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("secrets: " + err.Error()) // of a string there is none
	}
	return string(b)
}
