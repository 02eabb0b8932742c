package config

import "github.com/tenon-mcp/tenon/internal/source"

// Taint says what becomes of a call that can send data away, in a session that
// has read private data and untrusted content.
type Taint string

// What becomes of it.
const (
	TaintOff   Taint = "off"
	TaintWarn  Taint = "warn" // it is noted in the result; the default
	TaintAsk   Taint = "ask"
	TaintBlock Taint = "block"
)

// taint reads the part of that name.
func (s guards) taint(o *object) {
	if n := o.seen["taint"]; n != nil && n.Kind == source.Bool && isOff(n) { // YAML 1.1 reads off as false
		o.key("taint")
		s.cfg.Policy.Taint = TaintOff
		return
	}
	text := string(s.cfg.Policy.Taint)
	o.enum("taint", words("off", "warn", "ask", "block"), []string{"off", "warn", "ask", "block"}, &text)
	s.cfg.Policy.Taint = Taint(text)
}
