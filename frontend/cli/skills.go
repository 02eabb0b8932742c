package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// skillsCommand lists skills, or shows one.
func skillsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "skills [NAME]",
		Short: "List the skills, or show the playbook of one",
		Long: "List the skills: named lists of tools, each with a playbook for an agent. With a NAME, show that one with its\n" +
			"playbook. A skill is chosen by --skill, by session, or by the key of a caller. Nothing is started, so that tools\n" +
			"of servers whose tools are not known yet count as missing.",
		Example: "  tenon skills\n  tenon skills network_diagnosis",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(cmd, "%q is one argument too many", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := a.bounded(cmd.Context())
			defer cancel()
			s, err := openSkills(ctx, a)
			if err != nil {
				return err
			}
			defer s.Close()
			all, err := s.Skills(ctx)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return showSkill(ctx, a, cmd, s, all, args[0])
			}
			listSkills(a, all)
			return nil
		},
	}
}

// skillSource is where skills come from: a pool here, or a gateway.
type skillSource interface {
	Skills(ctx context.Context) ([]tenon.Skill, error)
	Skill(ctx context.Context, name string) (tenon.Skill, error)
	Explain(ctx context.Context, c tool.Call) (*tenon.Explanation, error)
	Close() error
}

// skillsHere are those of a pool in this process.
type skillsHere struct{ *tenon.Gateway }

// Skills returns those that the local user may choose.
func (s skillsHere) Skills(context.Context) ([]tenon.Skill, error) {
	return s.Policy().Skills(tool.Caller{Via: "cli"}), nil
}

// Skill returns one of them.
func (s skillsHere) Skill(_ context.Context, name string) (tenon.Skill, error) {
	for _, k := range s.Policy().Skills(tool.Caller{Via: "cli"}) {
		if k.Name == name {
			return k, nil
		}
	}
	return tenon.Skill{}, &tool.Error{Kind: tool.NotFound, Text: fmt.Sprintf("There is no skill %q.", name)}
}

// Explain says what would be decided about a call.
func (s skillsHere) Explain(ctx context.Context, c tool.Call) (*tenon.Explanation, error) {
	return s.Policy().Explain(ctx, c)
}

// skillsThere are those of a running gateway.
type skillsThere struct {
	rest.Policy
	io.Closer
}

// openSkills returns where skills come from. Whoever calls it closes that.
func openSkills(ctx context.Context, a *app) (skillSource, error) {
	if url := a.gateway(); url != "" {
		c, err := a.client(url)
		if err != nil {
			return nil, err
		}
		return skillsThere{rest.PolicyOf(c), c}, nil
	}
	gw, err := a.openGateway(ctx, a.logger(quiet))
	if err != nil {
		return nil, err
	}
	return skillsHere{gw}, nil
}

func showSkill(ctx context.Context, a *app, cmd *cobra.Command, from skillSource, all []tenon.Skill, name string) error {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
		if s.Name != name {
			continue
		}
		s, err := from.Skill(ctx, name)
		if err != nil {
			return err
		}
		if a.json() {
			a.printJSON(struct {
				tenon.Skill
				Playbook string `json:"playbook"`
			}{s, s.Playbook})
			return nil
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s: %s\n", s.Name, s.Description)
		fmt.Fprintf(&b, "tools: %s\n", strings.Join(s.Tools, ", "))
		if s.Strict {
			b.WriteString("strict: tools that only read do not come along\n")
		}
		if len(s.Missing) > 0 {
			fmt.Fprintf(&b, "not known now: %s\n", strings.Join(s.Missing, ", "))
		}
		if s.Path != "" {
			fmt.Fprintf(&b, "file: %s\n", s.Path)
		}
		a.printText(safe(b.String() + "\n" + s.Playbook))
		return nil
	}
	p := unknown(cmd, "skill", name, names)
	return &problem{kind: tool.NotFound, text: p.Error(), hint: explain(p).hint}
}

func listSkills(a *app, all []tenon.Skill) {
	if a.json() {
		a.printJSON(map[string]any{"skills": all})
		return
	}
	if len(all) == 0 {
		a.note("There is no skill. skills: in the configuration names folders of them.")
		return
	}
	rows := [][]string{{"SKILL", "RISK", "TOOLS", "MISSING", "DESCRIPTION"}}
	for _, s := range all {
		first, _, _ := strings.Cut(s.Description, "\n")
		rows = append(rows, []string{s.Name, string(s.RiskLevel), fmt.Sprint(len(s.Tools)), fmt.Sprint(len(s.Missing)), first})
	}
	a.printTable(rows)
}
