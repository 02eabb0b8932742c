package docker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/inside"
)

const (
	insideID  = "1000"
	ownTasks  = 4        // processes of the program, besides those of the code
	ownMemory = 16 << 20 // of the program
	tmpSize   = 64 << 20
	shmSize   = 64 << 20
	maxOpen   = 256     // files of a process
	maxLocked = 1 << 20 // bytes that are held in memory
	maxQueues = 800_000 // bytes of message queues
	// maxTasks bounds the processes of the user besides: the kernel counts those of all
	// that have its number, so the bound of the group counts. None could raise it.
	maxTasks = 16384
)

// launch makes a container and starts it.
func (b *Backend) launch(ctx context.Context, e *engine, spec sandbox.Spec) (*inside.Box, []string, error) {
	spec = spec.Filled()
	labels, err := b.maker.labels()
	if err != nil {
		return nil, nil, err
	}
	profile, err := json.Marshal(Profile())
	if err != nil {
		return nil, nil, err
	}
	create := client.ContainerCreateOptions{Config: containerConfig(b.o.Image, labels), HostConfig: hostConfig(spec, string(profile))}
	rest := context.WithoutCancel(ctx)
	ctx, cancel := within(ctx, startLimit)
	defer cancel()
	made, err := e.ContainerCreate(ctx, create)
	if errdefs.IsNotFound(err) { // the image was there before
		if err := e.image(ctx, b.o.Image, false); err != nil {
			return nil, nil, err
		}
	}
	if err != nil {
		return nil, nil, e.failed(ctx, "make a container", err)
	}
	x, err := b.start(ctx, rest, e, made.ID, spec)
	if err != nil {
		return nil, nil, err
	}
	if err := b.add(x); err != nil {
		_ = x.Kill(rest) // nobody wants it any more
		return nil, nil, err
	}
	var notes []string
	for _, w := range made.Warnings {
		notes = append(notes, "the engine warns: "+line(w, 200))
	}
	return x, notes, nil
}

// start attaches to a container, starts it, and waits for the program in it.
func (b *Backend) start(ctx, rest context.Context, e *engine, id string, spec sandbox.Spec) (*inside.Box, error) {
	attached, err := e.ContainerAttach(ctx, id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		_ = e.discard(rest, id) // it never ran
		return nil, e.failed(ctx, "attach to a container", err)
	}
	if _, err := e.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		attached.Close()
		_ = e.discard(rest, id) // it never ran
		return nil, e.failed(ctx, "start a container", err)
	}
	s := newStreams(attached.HijackedResponse)
	x, err := inside.Open(ctx, inside.Way{In: s.in(), Out: s}, inside.Options{
		Spec: spec,
		End:  func(ctx context.Context) (string, error) { return e.end(ctx, id) },
	})
	if err == nil {
		return x, nil
	}
	if said, _ := s.errs.Text(); said != "" && ctx.Err() == nil {
		return nil, &sandbox.Error{Kind: sandbox.Unavailable, Text: fmt.Sprintf("python3 in the image %s does not work as a sandbox: %s", b.o.Image, line(said, 400))}
	}
	return nil, e.failed(ctx, "run a container", err)
}

// discard removes a container that did not start.
func (e *engine) discard(ctx context.Context, id string) error {
	ctx, cancel := within(ctx, askLimit)
	defer cancel()
	return e.remove(ctx, id)
}

// end removes a container, and says why it had ended before, where the engine knows.
func (e *engine) end(ctx context.Context, id string) (string, error) {
	var why string
	about, err := e.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if s := about.Container.State; err == nil && s != nil && s.OOMKilled && !s.Running {
		why = "it has used up its memory"
	}
	if err := e.remove(ctx, id); err != nil {
		// It ends by itself as well, once the engine has noticed that nobody speaks to it.
		return "the container engine does not answer any more: " + e.failed(ctx, "remove a container", err).Error(), nil
	}
	return why, nil
}

func containerConfig(image string, labels map[string]string) *container.Config {
	return &container.Config{
		Image: image, Entrypoint: inside.Program("python3"), User: insideID + ":" + insideID, WorkingDir: "/", Hostname: "sandbox",
		// With its input ends the program.
		AttachStdin: true, AttachStdout: true, AttachStderr: true, OpenStdin: true, StdinOnce: true,
		NetworkDisabled: true, Labels: labels,
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

func hostConfig(spec sandbox.Spec, profile string) *container.HostConfig {
	never, tasks := false, int64(spec.Processes+ownTasks)
	memory := spec.Memory + spec.Disk + ownMemory
	return &container.HostConfig{
		AutoRemove: true, Init: &never, // the program is the first process, and buries the dead
		ReadonlyRootfs: true, CapDrop: []string{"ALL"}, NetworkMode: "none", IpcMode: "private", CgroupnsMode: "private",
		SecurityOpt: []string{"no-new-privileges", "seccomp=" + profile},
		LogConfig:   container.LogConfig{Type: "none"}, // all that goes in and out would be in it
		ShmSize:     min(shmSize, spec.Disk), OomScoreAdj: 500,
		Tmpfs: map[string]string{ // the modes may be those of the image: what counts is whose they are
			sandbox.Home: tmpfs(spec.Disk, "0700"),
			"/tmp":       tmpfs(min(tmpSize, spec.Disk), "1777"),
		},
		Resources: container.Resources{
			Memory: memory, MemorySwap: memory, PidsLimit: &tasks, CPUShares: 512,
			Ulimits: []*container.Ulimit{
				{Name: "nofile", Soft: maxOpen, Hard: maxOpen},
				{Name: "core"},
				{Name: "memlock", Soft: maxLocked, Hard: maxLocked},
				{Name: "fsize", Soft: spec.Disk, Hard: spec.Disk},
				{Name: "msgqueue", Soft: maxQueues, Hard: maxQueues},
				{Name: "nproc", Soft: maxTasks, Hard: maxTasks},
			},
		},
	}
}

// tmpfs are the options of a file system in memory.
func tmpfs(size int64, mode string) string {
	return fmt.Sprintf("rw,exec,nosuid,nodev,size=%d,nr_inodes=%d,mode=%s,uid=%s,gid=%s", size, max(4096, size/4096), mode, insideID, insideID)
}
