// Command incident is an agent without a model: it finds out why something does not work, with
// the tools of a gateway, and says what it found.
//
//	tenon serve --config examples/incident/tenon.yaml &
//	go run ./examples/incident
//
// A model would choose the calls by itself; here they are written down, so that the
// way from a symptom to its cause can be read, and tested: a container that restarts
// again and again, because the disk that it writes to is full. It takes seven calls.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path"
	"strings"
	"time"
)

func main() {
	gateway := flag.String("gateway", "http://127.0.0.1:8400", "URL of the gateway")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	a := agent{gateway: *gateway, log: os.Stderr}
	found, err := a.investigate(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	if err := out.Encode(found); err != nil {
		os.Exit(1)
	}
}

// A diagnosis is what the agent found.
type diagnosis struct {
	Container string  `json:"container"`
	Restarts  int     `json:"restarts"`
	Symptom   string  `json:"symptom"`
	Mount     string  `json:"mount"`
	Percent   float64 `json:"percent"`
	Directory string  `json:"directory"`
	File      string  `json:"file"`
	Bytes     uint64  `json:"bytes"`
	Runbook   string  `json:"runbook"`
	Calls     int     `json:"calls"`
}

type agent struct {
	gateway string
	log     io.Writer
	calls   int
}

// investigate goes from the container that restarts to the file that fills the disk.
func (a *agent) investigate(ctx context.Context) (diagnosis, error) {
	var found diagnosis
	name, err := a.restarting(ctx)
	if err != nil {
		return found, err
	}
	found.Container = name
	folders, err := a.container(ctx, &found)
	if err != nil {
		return found, err
	}
	if err := a.disk(ctx, folders, &found); err != nil {
		return found, err
	}
	if err := a.culprit(ctx, &found); err != nil {
		return found, err
	}
	var kb struct {
		Hits []struct {
			Source  string `json:"source"`
			Chapter string `json:"chapter"`
		} `json:"hits"`
	}
	if err := a.call(ctx, "knowledge", "search_knowledge_base", args{"query": found.Symptom + " what to do", "top_k": 1}, &kb); err != nil {
		return found, err
	}
	if len(kb.Hits) > 0 {
		found.Runbook = kb.Hits[0].Source + ", " + kb.Hits[0].Chapter
	}
	found.Calls = a.calls
	return found, nil
}

// restarting returns the container that does not stay up.
func (a *agent) restarting(ctx context.Context) (string, error) {
	var ps struct {
		Containers []struct {
			Name     string `json:"name"`
			State    string `json:"state"`
			Restarts int    `json:"restarts"`
		} `json:"containers"`
	}
	if err := a.call(ctx, "docker", "docker_ps", args{}, &ps); err != nil {
		return "", err
	}
	for _, c := range ps.Containers {
		if c.State == "restarting" || c.Restarts > 0 { // between two restarts it runs
			return c.Name, nil
		}
	}
	return "", errors.New("no container restarts: there is nothing to find out")
}

// container reads how the container ends, and returns the folders of the host that it
// writes to.
func (a *agent) container(ctx context.Context, found *diagnosis) ([]string, error) {
	var c struct {
		Restart struct {
			Count int `json:"count"`
		} `json:"restart"`
		Mounts []struct {
			Source   string `json:"source"`
			ReadOnly bool   `json:"read_only"`
		} `json:"mounts"`
	}
	if err := a.call(ctx, "docker", "docker_inspect", args{"name": found.Container}, &c); err != nil {
		return nil, err
	}
	found.Restarts = c.Restart.Count
	var folders []string
	for _, m := range c.Mounts {
		if !m.ReadOnly {
			folders = append(folders, m.Source)
		}
	}
	var logs struct {
		Lines []struct {
			Text string `json:"text"`
		} `json:"lines"`
	}
	if err := a.call(ctx, "docker", "docker_logs", args{"name": found.Container, "tail": 20}, &logs); err != nil {
		return nil, err
	}
	for _, l := range logs.Lines {
		if strings.Contains(strings.ToLower(l.Text), "no space left") {
			found.Symptom = "no space left on device"
			return folders, nil
		}
	}
	return nil, fmt.Errorf("%s restarts for another reason than a full disk", found.Container)
}

// disk finds the full file system that the folders lie on.
func (a *agent) disk(ctx context.Context, folders []string, found *diagnosis) error {
	var usage struct {
		Disks []struct {
			Mount   string  `json:"mount"`
			Percent float64 `json:"percent"`
		} `json:"disks"`
	}
	if err := a.call(ctx, "system", "get_local_disk_usage", args{}, &usage); err != nil {
		return err
	}
	for _, d := range usage.Disks {
		for _, folder := range folders {
			if under(folder, d.Mount) && d.Percent > 95 && len(d.Mount) > len(found.Mount) {
				found.Mount, found.Percent = d.Mount, d.Percent
			}
		}
	}
	if found.Mount == "" {
		return fmt.Errorf("none of the disks of %s is full", strings.Join(folders, ", "))
	}
	return nil
}

func under(folder, mount string) bool {
	return folder == mount || strings.HasPrefix(folder, strings.TrimSuffix(mount, "/")+"/")
}

// culprit finds what fills the file system.
func (a *agent) culprit(ctx context.Context, found *diagnosis) error {
	var scan struct {
		Directories []struct {
			Path string `json:"path"`
		} `json:"directories"`
	}
	if err := a.call(ctx, "system", "scan_dir_usage", args{"root": found.Mount}, &scan); err != nil {
		return err
	}
	if len(scan.Directories) > 0 {
		found.Directory = scan.Directories[0].Path
	}
	var large struct {
		Files []struct {
			Path  string `json:"path"`
			Bytes uint64 `json:"bytes"`
		} `json:"files"`
	}
	if err := a.call(ctx, "system", "find_large_files", args{"root": found.Mount, "min_size_mb": 1}, &large); err != nil {
		return err
	}
	if len(large.Files) == 0 {
		return fmt.Errorf("%s is full of small files", found.Mount)
	}
	found.File, found.Bytes = large.Files[0].Path, large.Files[0].Bytes
	return nil
}

type args map[string]any

// call makes one call and reads the data of its answer.
func (a *agent) call(ctx context.Context, server, tool string, arguments args, data any) error {
	a.calls++
	began := time.Now()
	body, err := json.Marshal(args{"server": server, "tool": tool, "arguments": arguments})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(a.gateway, "/")+"/api/v1/calls", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("is the gateway running? %w", err)
	}
	defer resp.Body.Close()
	var result struct {
		Error      string          `json:"error"`
		Structured json.RawMessage `json:"structured_content"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&result); err != nil {
		return fmt.Errorf("the gateway answered %s: %w", resp.Status, err)
	}
	fmt.Fprintf(a.log, "%d. %s %v: %s\n", a.calls, path.Join(server, tool), arguments, time.Since(began).Round(time.Millisecond))
	if result.Error != "" {
		return fmt.Errorf("%s: %s", tool, result.Error)
	}
	return json.Unmarshal(result.Structured, data)
}
