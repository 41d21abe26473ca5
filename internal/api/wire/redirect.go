package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Redirected describes a redirect of a request to base and suggests a fix. It returns "" if status is not a redirect or
// location is empty. Stepscope's clients never follow redirects, because they would send their keys to the server in
// the Location header.
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
	// A proxy that redirects an API changes only the beginning of the URL, such as http: to https:. If the path
	// differs, the target is something else, such as a login page.
	route, _, _ = strings.Cut(route, "?")
	moved, same := strings.CutSuffix((&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String(), route)
	if !same || moved == strings.TrimRight(base, "/") {
		return answer + ", which is not followed, because it would receive the keys: correct the URL"
	}
	return answer + ": give " + moved + " as --url"
}
