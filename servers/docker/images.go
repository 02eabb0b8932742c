package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/image"
	"github.com/moby/moby/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const (
	imagesChars = 6000
	imagesMost  = 200
)

type imagesInput struct {
	NameContains string `json:"name_contains,omitempty" jsonschema:"only images one of whose names holds this text, whatever its case"`
	Dangling     bool   `json:"dangling,omitempty" jsonschema:"only images without a name, which builds leave behind"`
}

func (imagesInput) about() string { return "" }

func (in imagesInput) check() error { return checkText("name_contains", in.NameContains) }

type imagesOutput struct {
	Images     []imageEntry `json:"images" jsonschema:"the images, largest first; at most 200"`
	Total      int          `json:"total" jsonschema:"how many match"`
	TotalBytes int64        `json:"total_bytes" jsonschema:"sum of their sizes; what they share is counted for each"`
}

type imageEntry struct {
	ID        string   `json:"id" jsonschema:"the id's first 12 characters"`
	Tags      []string `json:"tags" jsonschema:"names with tags; empty for a dangling image"`
	SizeBytes int64    `json:"size_bytes" jsonschema:"size on disk"`
	Created   string   `json:"created" jsonschema:"when it was built, UTC"`
	UsedBy    int      `json:"used_by" jsonschema:"how many containers were made from it"`
}

func (s *server) addImages(srv *mcp.Server) {
	add(srv, s, spec{Spec: typed.Spec{
		Name: "docker_images", Title: "Images",
		Description: "Lists the images that the engine keeps, largest first: names with tags, id, size, age, and how many containers were made from each. Says what takes space and which version is there.",
	}}, images)
}

func images(ctx context.Context, e *engine, in imagesInput) (string, imagesOutput, error) {
	out := imagesOutput{Images: []imageEntry{}}
	list, err := e.ImageList(ctx, client.ImageListOptions{})
	if err != nil {
		return "", out, err
	}
	containers, err := e.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		return "", out, err
	}
	used := map[string]int{}
	for _, c := range containers.Items {
		used[c.ImageID]++
	}
	slices.SortStableFunc(list.Items, func(a, b image.Summary) int { return clamp(int(b.Size-a.Size), -1, 1) })
	var rows [][]string
	for _, i := range list.Items {
		tags := tagsOf(i)
		if in.Dangling && len(tags) > 0 || !holds(tags, in.NameContains) {
			continue
		}
		out.Total++
		out.TotalBytes += i.Size
		created := time.Unix(i.Created, 0).UTC()
		if len(out.Images) < imagesMost {
			out.Images = append(out.Images, imageEntry{shortID(i.ID), tags, i.Size, created.Format(time.RFC3339), used[i.ID]})
		}
		shown := "(no name)"
		if len(tags) > 0 {
			shown = answer.Line(strings.Join(tags, ", "), 80)
		}
		rows = append(rows, []string{shown, shortID(i.ID), size(i.Size), ago(created, e.now()), fmt.Sprint(used[i.ID])})
	}
	if out.Total == 0 {
		return fmt.Sprintf("None of the %s at %s matches.", plural(len(list.Items), "image"), e.host), out, nil
	}
	head := fmt.Sprintf("## Images\n\n%s, %s in all; layers that several share are counted for each\n\n", plural(out.Total, "image"), size(out.TotalBytes))
	body := answer.Table([]string{"names", "id", "size", "built", "containers"}, rows, imagesChars-len(head))
	return head + body, out, nil
}

func tagsOf(i image.Summary) []string {
	tags := []string{}
	for _, t := range i.RepoTags[:min(len(i.RepoTags), 20)] {
		if t != "<none>:<none>" {
			tags = append(tags, answer.Line(t, 200))
		}
	}
	return tags
}

func holds(tags []string, want string) bool {
	return want == "" || slices.ContainsFunc(tags, func(t string) bool { return strings.Contains(strings.ToLower(t), strings.ToLower(want)) })
}
