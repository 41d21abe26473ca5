// Package route is a router for SGLang's servers and stepscope's: it chooses a worker for each request and streams the
// worker's reply to the client.
//
// A [Router] is in one of two modes. In plain mode every worker serves complete requests. In PD mode there are separate
// prefill and decode workers. Each request goes to one prefill worker and one decode worker, linked by a bootstrap
// room, and the client gets the decode worker's reply.
//
// If a request fails on a worker before the client has received a byte of the reply, the request is sent to another
// worker. If it fails later, the stream ends with an error event. Slow clients do not increase memory, because the
// router reads a worker's reply no faster than the client does.
//
// The routes and the fields of PD are those of SGLang's routers (its mini balancer and its model gateway). The profile
// routes, which reach every worker, and /workers/{id}/…, the API of a single worker, are additions of stepscope.
package route
