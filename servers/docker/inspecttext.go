package docker

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/answer"
)

// A page is a text of bounded length made of whole lines.
type page struct {
	b    strings.Builder
	left int
	over int // lines that did not fit
}

func (p *page) line(format string, a ...any) {
	s := fmt.Sprintf(format, a...) + "\n"
	n := utf8.RuneCountInString(s)
	if n > p.left {
		p.over++
		return
	}
	p.left -= n
	p.b.WriteString(s)
}

// text returns how a container is set up. What tells why it fails comes first.
func (o *inspectOutput) text() string {
	p := &page{left: inspectChars - 120}
	p.line("## %s\n", o.Name)
	o.stateText(p)
	p.line("- Image: %s (%s); command: %s", o.Image, o.ImageID, o.Command)
	p.line("- Created %s, id %s", o.Created, shortID(o.ID))
	p.line("- Limits: %s", o.Limits.text())
	p.line("- Log driver: %s", o.LogDriver)
	p.line("- May: %s", o.Security.text())
	if len(o.Mounts) == 0 {
		p.line("- Mounts: none")
	} else {
		p.line("\n### Mounts\n")
	}
	for _, m := range o.Mounts {
		how := "read and write"
		if m.ReadOnly {
			how = "read only"
		}
		p.line("- %s %s → %s (%s)", m.Type, m.Source, m.Destination, how)
	}
	p.line("\n### Network\n\n- Mode: %s", o.NetworkMode)
	for _, n := range o.Networks {
		p.line("- %s: %s", n.Name, n.text())
	}
	if len(o.Ports) > 0 {
		p.line("- Ports: %s", strings.Join(o.Ports, ", "))
	}
	if len(o.Environment) > 0 {
		p.line("\n### Environment\n\nNames alone, values are not shown: %s", answer.Cut(strings.Join(o.Environment, ", "), 1500))
	}
	if len(o.Labels) > 0 {
		p.line("\n### Labels\n")
	}
	for _, l := range o.Labels {
		p.line("- %s", l)
	}
	if p.over > 0 || o.NotAllListed {
		p.left = 120
		p.line("\nNot all is shown, to keep the answer short.")
	}
	return p.b.String()
}

func (o *inspectOutput) stateText(p *page) {
	s := o.State
	word := s.Status
	if s.Status == "exited" || s.Status == "dead" || s.Status == "restarting" {
		word += fmt.Sprintf(" with code %d", s.ExitCode)
		if why := exitMeaning(s.ExitCode); why != "" {
			word += " (" + why + ")"
		}
	}
	if s.OOMKilled {
		word += ", ended by the kernel for want of memory"
	}
	p.line("- State: %s", word)
	if s.Error != "" {
		p.line("- Error: %s", s.Error)
	}
	switch {
	case s.StartedAt != "" && s.Status == "running":
		p.line("- Runs since %s", s.StartedAt)
	case s.StartedAt != "":
		p.line("- Ran last from %s to %s", s.StartedAt, s.FinishedAt)
	}
	policy := o.Restart.Policy
	if o.Restart.Maximum > 0 {
		policy += fmt.Sprintf(", at most %d times", o.Restart.Maximum)
	}
	p.line("- Restarts: %d by the engine; policy %s", o.Restart.Count, policy)
	if h := o.Health; h != nil {
		p.line("- Health: %s, %d failed checks in a row; last exit code %d, printed: %s; check: %s", h.Status, h.FailingStreak, h.LastExitCode, orNothing(h.LastOutput), h.Check)
	}
}

// exitMeaning says what an exit code means by convention.
func exitMeaning(code int) string {
	switch code {
	case 125:
		return "the engine could not run it"
	case 126:
		return "its command cannot be executed"
	case 127:
		return "its command was not found"
	case 137:
		return "killed, by hand or for want of memory"
	case 139:
		return "it accessed memory that is not its own"
	case 143:
		return "it was asked to stop"
	}
	return ""
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func (l inspectLimits) text() string {
	var parts []string
	if l.MemoryBytes > 0 {
		parts = append(parts, "memory "+size(l.MemoryBytes))
	}
	if l.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("%g processors", l.CPUs))
	}
	if l.CpusetCPUs != "" {
		parts = append(parts, "tied to processors "+l.CpusetCPUs)
	}
	if l.PIDs > 0 {
		parts = append(parts, fmt.Sprintf("%d processes and threads", l.PIDs))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func (s inspectSecurity) text() string {
	parts := []string{"what containers usually may"}
	if s.Privileged {
		parts[0] = "all that root may on the host (privileged)"
	}
	if s.ReadOnlyRootfs {
		parts = append(parts, "not change its own files")
	}
	if s.User != "" {
		parts = append(parts, "runs as user "+s.User)
	}
	if len(s.CapAdd) > 0 {
		parts = append(parts, "also "+strings.Join(s.CapAdd, " "))
	}
	if len(s.CapDrop) > 0 {
		parts = append(parts, "without "+strings.Join(s.CapDrop, " "))
	}
	if s.PidMode == "host" {
		parts = append(parts, "sees all processes of the host")
	}
	return strings.Join(parts, "; ")
}

func (n inspectNet) text() string {
	parts := []string{}
	for _, s := range []struct{ label, value string }{{"", n.Address}, {"", n.IPv6}, {"gateway ", n.Gateway}, {"known as ", strings.Join(n.Names, ", ")}} {
		if s.value != "" {
			parts = append(parts, s.label+s.value)
		}
	}
	if len(parts) == 0 {
		return "no address now"
	}
	return strings.Join(parts, "; ")
}
