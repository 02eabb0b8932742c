package tool

import "log/slog"

// A Secret is a text that must not be shown: it prints as dots everywhere, in
// fmt, JSON, YAML and logs. Reveal gives it to whoever really uses it.
type Secret struct{ text string }

const dots = "•••"

// NewSecret returns text as a secret.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text itself.
func (s Secret) Reveal() string { return s.text }

// String returns dots.
func (Secret) String() string { return dots }

// GoString returns dots, for %#v.
func (Secret) GoString() string { return dots }

// MarshalText returns dots, for JSON and YAML.
func (Secret) MarshalText() ([]byte, error) { return []byte(dots), nil }

// LogValue returns dots, for slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(dots) }
