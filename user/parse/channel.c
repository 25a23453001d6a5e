// SPDX-License-Identifier: BSD-2-Clause
#include "parse/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(PARSE_FDS * sizeof(int))];
};

static void put_fds(struct msghdr *message, union control *control, const int fds[PARSE_FDS])
{
	int list[PARSE_FDS];
	size_t count = 0;

	for (size_t i = 0; i < PARSE_FDS; i++)
		if (fds[i] >= 0)
			list[count++] = fds[i];
	if (!count)
		return;
	memset(control, 0, sizeof(*control));
	message->msg_control = control;
	message->msg_controllen = CMSG_SPACE(count * sizeof(int));
	control->header.cmsg_level = SOL_SOCKET;
	control->header.cmsg_type = SCM_RIGHTS;
	control->header.cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&control->header), list, count * sizeof(int));
}

int channel_send(int fd, struct iovec *parts, size_t count, const int fds[PARSE_FDS])
{
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };
	union control control;

	put_fds(&message, &control, fds);
	while (message.msg_iovlen) {
		ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -errno;
		message.msg_control = NULL; /* the descriptors went with the first bytes */
		message.msg_controllen = 0;
		while (message.msg_iovlen && (size_t)sent >= message.msg_iov->iov_len) {
			sent -= (ssize_t)message.msg_iov->iov_len;
			message.msg_iov++;
			message.msg_iovlen--;
		}
		if (!message.msg_iovlen)
			break;
		message.msg_iov->iov_base = (char *)message.msg_iov->iov_base + sent;
		message.msg_iov->iov_len -= (size_t)sent;
	}
	return 0;
}

/* The first descriptors of a message; none is left open beside them, because no sender sends more. */
static void take_fds(struct msghdr *message, int fds[PARSE_FDS])
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	size_t count;

	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
		return;
	count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(header), (count < PARSE_FDS ? count : PARSE_FDS) * sizeof(int));
}

int channel_receive(int fd, void *to, size_t size, int fds[PARSE_FDS])
{
	size_t done = 0;

	for (size_t i = 0; i < PARSE_FDS; i++)
		fds[i] = -1;
	while (done < size) {
		struct iovec part = { (char *)to + done, size - done };
		union control control;
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
					  .msg_controllen = sizeof(control) };
		ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EPIPE;
		if (!done)
			take_fds(&message, fds);
		done += (size_t)got;
	}
	return 0;
}
