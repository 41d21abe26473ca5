// Package route is a router in front of SGLang's servers and stepscope's: it chooses
// a worker for each request and passes replies on as they come.
//
// A [Router] is in one of two modes. Plain: every worker serves whole requests. With
// prefill and decode workers apart (PD): each request goes to one of either, tied by a
// bootstrap room, and the decode worker's reply is the client's.
//
// Until the first byte of a reply has been passed on, a request that fails on one
// worker is sent to another; after it, a stream ends with an error event. Memory does
// not depend on how slow a client is: a worker is read no faster than its client reads.
//
// The routes and the fields of PD are those of SGLang's routers (its mini balancer and
// its model gateway). The profile routes, which reach every worker, and
// /workers/{id}/…, which is one worker's own API, are stepscope's.
package route
