package system

// CommandLine shows a command line as an answer does.
func CommandLine(program string, args []string) string { return commandLine(program, args) }

// Pressure reads pressure stall information from a directory.
func Pressure(dir string) string { return pressure(dir) }
