/* The little of HTTP that trials' server needs. */
#include <arpa/inet.h>
#include <string.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int trial_listen(int port) {
  int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 64) != 0) return -1;
  return fd;
}

int trial_accept(int fd) { return accept(fd, 0, 0); }

/* Reads a request without a body; 0 at the end of the connection. */
int trial_request(int fd) {
  char seen[4] = "";
  while (memcmp(seen, "\r\n\r\n", 4) != 0) {
    memmove(seen, seen + 1, 3);
    if (read(fd, seen + 3, 1) != 1) return 0;
  }
  return 1;
}

int trial_answer(int fd, int status) {
  char text[128];
  int length = snprintf(text, sizeof text, "HTTP/1.1 %d Said\r\nContent-Length: 4\r\n\r\nfine", status);
  return write(fd, text, length) == length;
}
