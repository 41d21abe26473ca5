// Package route is a router for SGLang's servers and stepscope's: it chooses a worker for each request and streams
// replies to the client.
//
// A [Router] is in one of two modes. In plain mode every worker serves whole requests. With separate prefill and decode
// workers (PD), each request goes to one of either kind, linked by a bootstrap room, and the client gets the decode
// worker's reply.
//
// Before the first byte of a reply has been sent to the client, a request that fails on one worker is sent to another.
// After it, a stream ends with an error event. Memory does not depend on the speed of clients: a worker's reply is read
// no faster than the client reads it.
//
// The routes and the fields of PD are those of SGLang's routers (its mini balancer and its model gateway). The profile
// routes, which reach every worker, and /workers/{id}/…, the API of a single worker, are stepscope's.
package route
