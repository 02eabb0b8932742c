package tool

// A ProbeState is what one cheap request to a service has shown.
type ProbeState string

// The states of a probe. Only WrongKey, Unreachable and Failing are findings.
const (
	ProbeOK            ProbeState = "ok"
	ProbeWrongKey      ProbeState = "wrong key"
	ProbeUnreachable   ProbeState = "unreachable"
	ProbeFailing       ProbeState = "failing"        // it answers, and not with what was asked for
	ProbeUnknown       ProbeState = "unknown"        // it answers, and whether the key is right cannot be seen
	ProbeNotConfigured ProbeState = "not configured" // nothing was asked
)

// A Probe says of one service that a bundled server is configured for whether it can
// be reached and takes the key. It never holds the key.
type Probe struct {
	Server  string     `json:"server"`
	Service string     `json:"service"`
	State   ProbeState `json:"state"`
	Text    string     `json:"text,omitempty"` // what was found, or what to do
}

// Bad reports whether somebody has to do something about it.
func (p Probe) Bad() bool {
	return p.State == ProbeWrongKey || p.State == ProbeUnreachable || p.State == ProbeFailing
}
