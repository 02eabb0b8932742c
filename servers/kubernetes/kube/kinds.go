package kube

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Resource is a kind of objects that the cluster has.
type Resource struct {
	Group      string // empty: the core
	Version    string
	Kind       string // such as Deployment
	Plural     string // such as deployments
	Singular   string
	Short      []string
	Namespaced bool
	Verbs      []string
}

// Can reports whether the resource knows the verb, such as list.
func (r Resource) Can(verb string) bool { return slices.Contains(r.Verbs, verb) }

// Name returns the name of the resource as people write it: deployments.apps.
func (r Resource) Name() string {
	if r.Group == "" {
		return r.Plural
	}
	return r.Plural + "." + r.Group
}

// Path returns where the objects of the resource are. An empty namespace means all,
// an empty name the list. Names are taken as they are: check them with ValidName.
func (r Resource) Path(namespace, name string) string {
	p := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		p = "/api/" + r.Version
	}
	if r.Namespaced && namespace != "" {
		p += "/namespaces/" + namespace
	}
	p += "/" + r.Plural
	if name != "" {
		p += "/" + name
	}
	return p
}

// ValidName reports whether s can be the name of an object, or of a namespace: no
// way to leave its place in a path.
func ValidName(s string) bool {
	if s == "" || len(s) > 253 || strings.Trim(s, ".") == "" {
		return false
	}
	for i, c := range []byte(s) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || strings.IndexByte("-._:", c) < 0) {
			return false
		}
	}
	return true
}

// kinds is the list of kinds, which is kept for a while: it changes with what is
// installed in the cluster.
type kinds struct {
	mu   sync.Mutex
	list []Resource
	at   time.Time
}

const kindsAge = 5 * time.Minute

// Kinds returns the kinds of objects that the cluster has, in its preferred
// versions.
func (c *Client) Kinds(ctx context.Context) ([]Resource, error) { return c.kindsOf(ctx, kindsAge) }

func (c *Client) kindsOf(ctx context.Context, age time.Duration) ([]Resource, error) {
	c.kinds.mu.Lock()
	list, at := c.kinds.list, c.kinds.at
	c.kinds.mu.Unlock()
	if list != nil && time.Since(at) < age {
		return list, nil
	}
	list, err := c.discover(ctx)
	if err != nil {
		return nil, err
	}
	c.kinds.mu.Lock()
	c.kinds.list, c.kinds.at = list, time.Now()
	c.kinds.mu.Unlock()
	return list, nil
}

// discovery asks for all kinds in one answer, in the forms that servers know.
const discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

type discovered struct {
	Kind  string `json:"kind"`
	Items []struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Versions []struct {
			Version   string `json:"version"`
			Resources []struct {
				Resource     string `json:"resource"`
				ResponseKind struct {
					Kind string `json:"kind"`
				} `json:"responseKind"`
				Scope    string   `json:"scope"`
				Singular string   `json:"singularResource"`
				Short    []string `json:"shortNames"`
				Verbs    []string `json:"verbs"`
			} `json:"resources"`
		} `json:"versions"`
	} `json:"items"`
	// What servers before 1.26 answer.
	Groups []struct {
		Name      string `json:"name"`
		Preferred struct {
			GroupVersion string `json:"groupVersion"`
		} `json:"preferredVersion"`
	} `json:"groups"`
}

func (c *Client) discover(ctx context.Context) ([]Resource, error) {
	var all []Resource
	for _, root := range []string{"/api", "/apis"} {
		var d discovered
		if err := c.GetAs(ctx, discovery, root, nil, &d); err != nil {
			return nil, err
		}
		if d.Kind != "APIGroupDiscoveryList" {
			more, err := c.discoverOld(ctx, root, d)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
			continue
		}
		for _, g := range d.Items {
			seen := map[string]bool{} // the first version is the preferred one
			for _, v := range g.Versions {
				for _, r := range v.Resources {
					if seen[r.Resource] {
						continue
					}
					seen[r.Resource] = true
					all = append(all, Resource{
						g.Metadata.Name, v.Version, r.ResponseKind.Kind, r.Resource, r.Singular, r.Short, r.Scope == "Namespaced", r.Verbs,
					})
				}
			}
		}
	}
	return all, nil
}

// discoverOld asks each group for its kinds.
func (c *Client) discoverOld(ctx context.Context, root string, d discovered) ([]Resource, error) {
	versions := []string{"v1"}
	if root == "/apis" {
		versions = nil
		for _, g := range d.Groups {
			versions = append(versions, g.Preferred.GroupVersion)
		}
	}
	var all []Resource
	for _, gv := range versions[:min(len(versions), 200)] {
		group, version, ok := strings.Cut(gv, "/")
		if !ok {
			group, version = "", gv
		}
		var list struct {
			Resources []struct {
				Name       string   `json:"name"`
				Singular   string   `json:"singularName"`
				Namespaced bool     `json:"namespaced"`
				Kind       string   `json:"kind"`
				Verbs      []string `json:"verbs"`
				Short      []string `json:"shortNames"`
			} `json:"resources"`
		}
		if err := c.Get(ctx, root+"/"+gv, nil, &list); err != nil {
			if root == "/apis" { // an extension whose server is away must not hide the rest
				continue
			}
			return nil, err
		}
		for _, r := range list.Resources {
			if !strings.Contains(r.Name, "/") {
				all = append(all, Resource{group, version, r.Kind, r.Name, cmp.Or(r.Singular, strings.ToLower(r.Kind)), r.Short, r.Namespaced, r.Verbs})
			}
		}
	}
	return all, nil
}

// Find returns the kind that a model or a person means by a word: its plural,
// singular, short name or kind in any case, with a group where several have it.
func (c *Client) Find(ctx context.Context, word string) (Resource, error) {
	if word == "" || len(word) > 253 {
		return Resource{}, &Error{Text: "kind is empty or too long. Give one such as pods, deployments or certificates.cert-manager.io"}
	}
	list, err := c.Kinds(ctx)
	if err != nil {
		return Resource{}, err
	}
	if r, ok := match(list, word); ok {
		return r, nil
	}
	if list, err = c.kindsOf(ctx, 10*time.Second); err != nil { // perhaps it is new
		return Resource{}, err
	}
	if r, ok := match(list, word); ok {
		return r, nil
	}
	var names []string
	for _, r := range list {
		if r.Can("list") {
			names = append(names, r.Name())
		}
	}
	slices.Sort(names)
	more := ""
	if len(names) > 60 {
		names, more = names[:60], " and more"
	}
	return Resource{}, &Error{Text: fmt.Sprintf("this cluster has no kind %q. There are: %s%s", cutText(word, 60), strings.Join(names, ", "), more)}
}

func match(list []Resource, word string) (Resource, bool) {
	name, group, qualified := strings.Cut(strings.ToLower(word), ".")
	for _, r := range list {
		if qualified && !strings.EqualFold(r.Group, group) {
			continue
		}
		if name == r.Plural || name == r.Singular || name == strings.ToLower(r.Kind) || slices.Contains(r.Short, name) {
			return r, true
		}
	}
	return Resource{}, false
}

// Where returns the namespaces in which an object of that name is, at most ten.
func (c *Client) Where(ctx context.Context, r Resource, name string) []string {
	var list struct {
		Items []struct {
			Metadata struct {
				Namespace string `json:"namespace"`
			} `json:"metadata"`
		} `json:"items"`
	}
	query := url.Values{"fieldSelector": {"metadata.name=" + name}, "limit": {"10"}}
	if c.GetAs(ctx, Names, r.Path("", ""), query, &list) != nil {
		return nil
	}
	var out []string
	for _, i := range list.Items {
		out = append(out, i.Metadata.Namespace)
	}
	return out
}
