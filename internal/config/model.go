package config

import (
	"net/url"

	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// Model is an endpoint of a model.
type Model struct {
	Kind      string // openai, anthropic or gemini: how it is asked
	BaseURL   string
	Name      string
	Key       tool.Secret
	MaxTokens int // of one answer; 0 is the endpoint's own bound
	Way
	Price [2]float64 // of a million tokens of the question, and of the answer; 0 is not known
}

// A Way is how an endpoint is reached.
type Way struct {
	Proxy  tool.Secret // a URL, which may hold a password, or "none"; empty is that of the environment
	CAFile string      // certificates to trust besides the system's
}

// readWay reads the keys of a way; relative paths start at dir.
func (o *object) readWay(w *Way, dir string) {
	if at := o.seen["proxy"]; at != nil {
		at.Hide()
	}
	var proxy string
	o.text("proxy", &proxy)
	w.Proxy = tool.NewSecret(proxy)
	if o.text("ca_file", &w.CAFile); w.CAFile != "" {
		w.CAFile = under(dir, w.CAFile)
	}
}

func (w *Way) show(m map[string]any) {
	if w.Proxy.Reveal() != "" {
		m["proxy"] = w.Proxy
	}
	if w.CAFile != "" {
		m["ca_file"] = w.CAFile
	}
}

// read reads the map that says of a model.
func (c *Model) read(n *source.Node, in *object, dir string) {
	m := newObject(n, in.ex, in.to)
	kinds := []string{"openai", "anthropic", "gemini"}
	c.Kind = kinds[0]
	m.enum("kind", words(kinds...), kinds, &c.Kind)
	m.text("base_url", &c.BaseURL)
	m.text("name", &c.Name)
	if at := m.seen["key"]; at != nil {
		at.Hide()
	}
	var key string
	m.text("key", &key)
	c.Key = tool.NewSecret(key)
	m.integer("max_tokens", 0, 10_000_000, &c.MaxTokens)
	m.number("price_in", 0, 1_000_000, &c.Price[0])
	m.number("price_out", 0, 1_000_000, &c.Price[1])
	m.readWay(&c.Way, dir)
	m.refuse()
	u, err := url.Parse(c.BaseURL)
	switch {
	case c.BaseURL == "" || c.Name == "":
		m.fail(m.n, "model wants base_url and name", "such as {base_url: https://api.openai.com/v1, name: …}")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil:
		m.fail(m.at("base_url"), "base_url wants http://host… or https://host…, without user and password", "")
	}
}

func (c *Model) shown() map[string]any {
	m := map[string]any{"kind": c.Kind, "base_url": c.BaseURL, "name": c.Name}
	if c.Key.Reveal() != "" {
		m["key"] = c.Key
	}
	if c.MaxTokens > 0 {
		m["max_tokens"] = c.MaxTokens
	}
	c.Way.show(m)
	if c.Price != [2]float64{} {
		m["price_in"], m["price_out"] = c.Price[0], c.Price[1]
	}
	return m
}
