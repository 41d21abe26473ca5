package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Redirected describes a redirect from base and its fix. It returns "" if status is not a redirect or no Location came.
// Clients here never follow redirects, because their keys would go to whichever server the Location names.
func Redirected(status int, base, route, location string) string {
	if status/100 != 3 || location == "" {
		return ""
	}
	answer := fmt.Sprintf("the server answers with a redirect (%d %s) to %.300s", status, http.StatusText(status), WithoutUser(location))
	from, err := url.Parse(base + route)
	var to *url.URL
	if err == nil {
		to, err = from.Parse(location)
	}
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return answer + ", which is not followed: correct the URL"
	}
	// A proxy that moves an API changes the beginning of the URL, such as http: to https:. A login page has a different
	// path.
	route, _, _ = strings.Cut(route, "?")
	moved, same := strings.CutSuffix((&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String(), route)
	if !same || moved == strings.TrimRight(base, "/") {
		return answer + ", which is not followed, because it would receive the keys: correct the URL"
	}
	return answer + ": give " + moved + " as --url"
}
