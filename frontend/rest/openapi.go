package rest

import (
	"bytes"
	_ "embed"
	"encoding/json"
)

// openAPI is the description of this API, for version 0.0.0. It is written by
// hand; a test compares it with the operations, and every answer with it.
//
//go:embed openapi.json
var openAPI []byte

// document returns the description for a version of the program.
func document(version string) []byte {
	if version == "" {
		return openAPI
	}
	quoted, _ := json.Marshal(version) // a string always marshals
	return bytes.Replace(openAPI, []byte(`"0.0.0"`), quoted, 1)
}
