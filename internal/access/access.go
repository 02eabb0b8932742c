// Package access says who a caller is: by an API key, or by a token of an identity provider.
package access
