// Package held finds files that were deleted and are still open: they take their space
// until the process ends or closes them, and no directory shows them.
//
//	for _, f := range held.Files(ctx) { … f.PID, f.Path, f.Bytes … }
//	device, ok := held.Device("/var") // files whose Device is that are there
//
// Linux tells it to every program, of the processes of its user; elsewhere there are none.
package held

// A File is a deleted file that is open, once, however many processes have it.
type File struct {
	PID     int    // a process that has it open
	Process string // its name
	Path    string // where the file was
	Bytes   uint64 // on the disk
	Device  uint64 // number of its file system
}
