package servers

import (
	"maps"
	"slices"
)

// aliases are other names under which bundled servers are found: those that a
// configuration of MiroFlow or MiroThinker calls servers with the same tools.
var aliases = map[string]string{
	"tool-searching":            "searching",
	"tool-searching-serper":     "searching",
	"tool-searching-tavily":     "searching",
	"tool-google-search":        "searching",
	"tool-sogou-search":         "searching",
	"tool-serper-search":        "searching",
	"tool-serper-sogou-search":  "searching",
	"search_and_scrape_webpage": "searching",

	"tool-reading":    "reading",
	"tool-reader":     "reading",
	"tool-markitdown": "reading",

	"tool-code":              "python",
	"tool-code-sandbox":      "python",
	"tool-python":            "python",
	"stateless_python":       "python",
	"e2b-python-interpreter": "python",

	"tool-image-video":    "vision",
	"tool-image-video-os": "vision",
	"tool-vqa":            "vision",
	"tool-vqa-os":         "vision",

	"tool-audio":         "audio",
	"tool-audio-os":      "audio",
	"tool-transcribe":    "audio",
	"tool-transcribe-os": "audio",

	"tool-reasoning":    "reasoning",
	"tool-reasoning-os": "reasoning",
}

// aliasOptions are the options, each a JSON object, that a server has under one of its
// other names unless they are set.
var aliasOptions = map[string]string{"tool-markitdown": `{"convert_to_markdown": true}`}

// AliasOptions returns the options that a bundled server has under other names of it,
// unless they are set: a JSON object for each such name that has any.
func AliasOptions(name string) map[string]string {
	list := map[string]string{}
	for alias, options := range aliasOptions {
		if aliases[alias] == name {
			list[alias] = options
		}
	}
	return list
}

// Aliases returns the other names of a bundled server, in order.
func Aliases(name string) []string {
	var list []string
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		if aliases[alias] == name {
			list = append(list, alias)
		}
	}
	return list
}
