package secrets

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
)

// keyringWait bounds the question to the keyring, which may ask its user to unlock it.
const keyringWait = 30 * time.Second

// Keyring returns a secret of the keyring of the user: Keychain on macOS, the
// Credential Manager on Windows, the Secret Service elsewhere.
func Keyring(service, account string) (string, error) {
	const instead = "where there is none, such as on a server, write ${file:…} or ${secret:…}"
	type answer struct {
		value string
		err   error
	}
	answers := make(chan answer, 1)
	// Nobody waits for it after its time: the library cannot be interrupted, and it
	// holds nothing but this channel.
	new(sync.WaitGroup).Go(func() {
		value, err := keyring.Get(service, account)
		answers <- answer{value, err}
	})
	late := time.NewTimer(keyringWait)
	defer late.Stop()
	select {
	case a := <-answers:
		switch {
		case a.err == nil:
			return a.value, nil
		case errors.Is(a.err, keyring.ErrNotFound):
			return "", &Error{Text: fmt.Sprintf("the keyring has nothing for service %s, account %s", service, account), Hint: addHint(service, account), Err: a.err}
		}
		return "", &Error{Text: "the keyring cannot be read: " + a.err.Error(), Hint: instead, Err: a.err}
	case <-late.C:
		return "", &Error{Text: "the keyring did not answer within " + keyringWait.String(), Hint: "unlock it, or " + instead}
	}
}

// HasKeyring reports whether there is a keyring to ask, without asking it. On
// Linux it is reached by the bus of the session, and the library starts one where
// there is none.
func HasKeyring(busAddress string) bool {
	if runtime.GOOS != "linux" || busAddress != "" {
		return true
	}
	_, err := os.Stat("/run/user/" + strconv.Itoa(os.Getuid()) + "/bus")
	return err == nil
}

// addHint says how a secret gets into the keyring.
func addHint(service, account string) string {
	switch runtime.GOOS {
	case "darwin":
		return fmt.Sprintf("security add-generic-password -s %s -a %s -w", service, account)
	case "windows":
		return fmt.Sprintf("add a generic credential %s:%s with that user name in the Credential Manager", service, account)
	}
	return fmt.Sprintf("secret-tool store --label=%s service %s username %s", service, service, account)
}

// Keep puts a secret into the keyring of the user, in place of one that is there.
func Keep(service, account, value string) error {
	answers := make(chan error, 1)
	// Nobody waits for it after its time, as in Keyring.
	new(sync.WaitGroup).Go(func() { answers <- keyring.Set(service, account, value) })
	late := time.NewTimer(keyringWait)
	defer late.Stop()
	select {
	case err := <-answers:
		if err != nil {
			return &Error{Text: "the keyring takes nothing: " + err.Error(), Hint: "unlock it, or keep the secret elsewhere", Err: err}
		}
		return nil
	case <-late.C:
		return &Error{Text: "the keyring did not answer within " + keyringWait.String(), Hint: "unlock it, or keep the secret elsewhere"}
	}
}
