// Package quota counts what callers, sessions and tools use, and says when it is enough.
package quota
