package mcp

// Question is what a client's person is asked.
var Question = question
