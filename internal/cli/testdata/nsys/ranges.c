// A server as SGLang is to a profiler: POST /start_profile makes the range
// cudaProfilerApi of the domain stepscope, with some steps in it.
#include <arpa/inet.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void answer(int client, const char *type, const char *body) {
	char text[512];
	int n = snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s", type, strlen(body), body);
	if (write(client, text, n) != n) perror("write");
	close(client);
}

int main(void) {
	nvtxDomainHandle_t domain = nvtxDomainCreateA("stepscope");
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof at;
	int s = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(s, (struct sockaddr *)&at, size) || listen(s, 8) || getsockname(s, (struct sockaddr *)&at, &size)) return 1;
	printf("port %d\n", ntohs(at.sin_port));
	fflush(stdout);
	for (;;) {
		char request[8192] = "";
		int client = accept(s, 0, 0);
		if (client < 0 || read(client, request, sizeof request - 1) < 0) continue;
		if (strncmp(request, "GET /server_info ", 17) == 0) {
			answer(client, "200 OK", "{\"tp_size\": 1, \"version\": \"0.5\"}");
		} else if (strncmp(request, "POST /start_profile ", 20) == 0) {
			answer(client, "200 OK", "\"Start profiling.\"");
			nvtxEventAttributes_t range = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE, .messageType = NVTX_MESSAGE_TYPE_ASCII};
			range.message.ascii = "cudaProfilerApi";
			nvtxDomainRangePushEx(domain, &range);
			for (int i = 0; i < 10; i++) {
				nvtxRangePushA("step");
				usleep(20000);
				nvtxRangePop();
			}
			nvtxDomainRangePop(domain);
		} else {
			answer(client, "404 Not Found", "{}");
		}
	}
}
