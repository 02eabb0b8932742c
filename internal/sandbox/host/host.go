// Package host knows what of this machine sandboxes on it are shown, and where they
// keep what belongs to them: its interpreters with their folders, its programs and
// libraries, and a private folder that is swept after a crash.
//
//	pythons, err := host.Interpreters(ctx, "", os.Getenv("PATH")) // best first
//	folder, err := host.NewFolder("", "sandboxes", nil)
//	defer folder.Close()
//
// Back ends that run code on this machine share it. It is for Linux.
package host

// Folders and Files are what of the machine is there to be read, besides the folders
// of an interpreter. Some machines do not have all of them.
var (
	Folders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"}
	Files   = []string{
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
		"/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust", "/etc/localtime", "/etc/timezone", "/etc/mime.types",
		"/etc/fonts", "/etc/matplotlibrc", "/etc/magic", "/etc/services", "/etc/protocols", "/etc/os-release",
	}
)
