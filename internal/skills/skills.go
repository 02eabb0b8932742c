// Package skills reads skills: folders with a SKILL.md that name the tools a task needs
// and say how to go about it.
package skills
