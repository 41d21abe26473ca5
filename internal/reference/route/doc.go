// Package route is a router for SGLang's and stepscope's servers. It chooses a worker for each request and streams the
// worker's reply to the client.
//
// A [Router] is in one of two modes. In plain mode every worker serves complete requests. In PD mode there are separate
// prefill and decode workers. Each request is sent to one prefill worker and one decode worker, which are linked by a
// bootstrap room. The client gets the decode worker's reply.
//
// If a request fails on a worker before the client has received a byte of the reply, the request is sent to another
// worker. If the request fails later, the stream ends with an error event. Slow clients do not increase memory, because
// the router reads a worker's reply no faster than the client does.
//
// The routes and the fields for PD are those of SGLang's two routers, the mini balancer and the model gateway.
// Stepscope adds the profile routes, which reach every worker, and /workers/{id}/…, which is the API of a single
// worker.
package route
