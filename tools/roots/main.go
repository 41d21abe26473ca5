// Command roots prints Mozilla's root certificates in PEM. They are those of golang.org/x/crypto/x509roots at the version
// in go.mod, so the bytes do not depend on the machine. Roots with constraints are left out: PEM cannot express these.
package main

import (
	"encoding/pem"
	"fmt"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(os.Stdout, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			fmt.Fprintln(os.Stderr, "roots:", err)
			os.Exit(1)
		}
	}
}
