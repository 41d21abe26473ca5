package bench

// Cache summarises the cache counts that the servers reported for the successful requests.
type Cache struct {
	Prompt  int     `json:"prompt_tokens"`
	Cached  int     `json:"cached_tokens"`
	HitRate float64 `json:"hit_rate"` // Cached over Prompt
	// Details reports whether any server reported where the cached tokens were stored. If so, Device, Host and Storage
	// count these tokens.
	Details bool `json:"details"`
	Device  int  `json:"device_tokens"`
	Host    int  `json:"host_tokens"`
	Storage int  `json:"storage_tokens"`
	// Backend is the storage backend; "": unknown.
	Backend string `json:"storage_backend"`
}

// newCache returns nil if no reply reports on a cache.
func newCache(ok []*Record) *Cache {
	c, said := &Cache{}, false
	for _, r := range ok {
		c.Prompt += r.PromptLen
		if r.CachedTokens >= 0 {
			c.Cached += r.CachedTokens
			said = true
		}
		d := r.CachedDetails
		if len(d) == 0 {
			continue
		}
		said, c.Details = true, true
		c.Device += asInt(d["device"])
		c.Host += asInt(d["host"])
		if n := asInt(d["storage"]); n > 0 {
			c.Storage += n
			c.Backend, _ = d["storage_backend"].(string)
		}
	}
	if !said {
		return nil
	}
	if c.Prompt > 0 {
		c.HitRate = float64(c.Cached) / float64(c.Prompt)
	}
	return c
}

func asInt(v any) int {
	switch v := v.(type) {
	case float64:
		return int(v)
	case int:
		return v
	case int64:
		return int(v)
	}
	return 0
}
