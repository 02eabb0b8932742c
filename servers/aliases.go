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
