package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

type skillList struct {
	Skills []tenon.Skill `json:"skills"`
}

// A playbook is a skill with what an agent is to read of it.
type playbook struct {
	tenon.Skill
	Playbook string `json:"playbook"` // Markdown
}

// skills lists the skills that the caller may choose.
func (a guide) skills(r *http.Request, caller tool.Caller) (response, error) {
	if _, err := query(r); err != nil {
		return response{}, err
	}
	b, err := marshal(skillList{hidePaths(a.gw.Policy().Skills(caller))})
	return response{contentType: typeJSON, body: b}, err
}

// skill gives one of them with its playbook.
func (a guide) skill(r *http.Request, caller tool.Caller) (response, error) {
	if _, err := query(r); err != nil {
		return response{}, err
	}
	name := r.PathValue("name")
	var names []string
	for _, s := range hidePaths(a.gw.Policy().Skills(caller)) {
		if s.Name == name {
			b, err := marshal(playbook{s, s.Playbook})
			return response{contentType: typeJSON, body: b}, err
		}
		names = append(names, s.Name)
	}
	text := fmt.Sprintf("There is no skill %q.", name)
	if len(names) > 0 {
		text += " There are: " + strings.Join(names, ", ") + "."
	}
	return response{}, &Error{Text: text, Kind: tool.NotFound}
}

// hidePaths takes away where skills lie: it is nothing for who calls.
func hidePaths(all []tenon.Skill) []tenon.Skill {
	for i := range all {
		all[i].Path = ""
	}
	return all
}

// Skills returns the skills that the client may choose.
func (p Policy) Skills(ctx context.Context) ([]tenon.Skill, error) {
	var out skillList
	err := p.c.get(ctx, "/skills", nil, &out)
	return out.Skills, err
}

// Skill returns one skill, with its playbook.
func (p Policy) Skill(ctx context.Context, name string) (tenon.Skill, error) {
	var out playbook
	if err := p.c.get(ctx, "/skills/"+url.PathEscape(name), nil, &out); err != nil {
		return tenon.Skill{}, err
	}
	out.Skill.Playbook = out.Playbook
	return out.Skill, nil
}
