// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "live/process/launch.h"
#include "live/process/relay_child.h"
#include "live/process/relay_line.h"

#define ANSWER_MS 200            /* to an order that needs no terminal */
#define READY_MS 10000           /* within which the process is ready, on a busy machine */
#define TAIL_BYTES 1024          /* in which the last line is looked for */

struct relay {
	int terminal;            /* the caller's */
	int control;
	int slave;               /* as long as it is open the relay sees no end of the command's output */
	unsigned int due;        /* answers */
	bool is_held;            /* atomic: relay_let_go() is for any thread */
	struct relay_shared *shared;
};

/* ---- the pseudo terminal ---- */

static bool shares_terminal(int fd, int terminal)
{
	unsigned int x, y;

	return !ioctl(fd, TIOCGDEV, &x) && !ioctl(terminal, TIOCGDEV, &y) && x == y;
}

/* A path may lead into another mount of devpts; kernels before 4.13 have nothing but the path. */
static int open_slave(int master)
{
	const int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
	int slave = ioctl(master, TIOCGPTPEER, flags);
	char path[64];

	if (slave >= 0 || ptsname_r(master, path, sizeof(path)))
		return slave;
	return open(path, flags);
}

/* The modes are the terminal's, but what is added to the text (CR before LF) the terminal adds. Who may open the
 * terminal by its name may open this one. */
static void resemble_terminal(int slave, int terminal)
{
	struct termios modes;
	struct stat st;

	if (!tcgetattr(terminal, &modes)) {
		modes.c_oflag &= ~(tcflag_t)OPOST;
		modes.c_lflag &= ~(tcflag_t)ECHO;
		tcsetattr(slave, TCSANOW, &modes);
	}
	if (!fstat(terminal, &st)) {
		(void)!fchown(slave, st.st_uid, st.st_gid);
		(void)!fchmod(slave, st.st_mode & 07777);
	}
}

/* 0 or -errno. */
static int open_pair(int terminal, int *master, int *slave)
{
	int err;

	*slave = -1;
	*master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (*master < 0)
		return -errno;
	if (!grantpt(*master) && !unlockpt(*master))
		*slave = open_slave(*master);
	if (*slave >= 0) {
		resemble_terminal(*slave, terminal);
		return 0;
	}
	err = -errno;
	close(*master);
	return err;
}

void relay_fit(struct relay *relay)
{
	struct winsize now, before;

	if (ioctl(relay->terminal, TIOCGWINSZ, &now) || ioctl(relay->slave, TIOCGWINSZ, &before) ||
	    !memcmp(&now, &before, sizeof(now)) || ioctl(relay->slave, TIOCSWINSZ, &now))
		return;
	/* The terminal's own signal may have been too early for who asks the pseudo terminal. */
	kill(0, SIGWINCH);
}

/* ---- the process ---- */

/* One byte of the process; -EAGAIN: none came in time, -EIO: the process has ended. */
static int take_answer(int control, int most_ms)
{
	struct pollfd answers = { .fd = control, .events = POLLIN };
	unsigned int errors = 0;
	ssize_t size;
	char byte;

	while ((size = read(control, &byte, 1)) < 0) {
		if (errno != EAGAIN && errno != EINTR && ++errors >= RELAY_TRIES)
			return -EIO;
		if (errno == EAGAIN && poll(&answers, 1, most_ms) == 0)
			return -EAGAIN;
	}
	return size ? 0 : -EIO;
}

static int start_process(struct relay *relay, int master)
{
	int ends[2], err;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return -errno;
	pid = fork();
	if (!pid)
		relay_run(ends[1], master, relay->terminal, relay->shared);
	close(ends[1]);
	relay->control = ends[0];
	err = pid > 0 ? take_answer(ends[0], READY_MS) : -EAGAIN;
	if (!err)
		return 0;
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, WNOHANG);
	return err;
}

int relay_open(struct relay **out, int terminal, struct command_output *output)
{
	struct relay_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
					   -1, 0);
	struct relay relay = { .terminal = terminal, .shared = shared };
	int err, master;

	if (shared == MAP_FAILED)
		return -errno;
	err = open_pair(terminal, &master, &relay.slave);
	if (!err) {
		struct winsize size;

		if (!ioctl(terminal, TIOCGWINSZ, &size))
			ioctl(relay.slave, TIOCSWINSZ, &size);
		err = start_process(&relay, master);
		close(master);
		if (err)
			close(relay.slave);
	}
	if (err) {
		munmap(shared, sizeof(*shared));
		return err;
	}
	*output = (struct command_output){
		.fd = relay.slave,
		.is_out = shares_terminal(STDOUT_FILENO, terminal),
		.is_err = shares_terminal(STDERR_FILENO, terminal),
	};
	*out = xmalloc(sizeof(relay));
	**out = relay;
	return 0;
}

void relay_close(struct relay *relay)
{
	if (!relay)
		return;
	relay_let_go(relay);
	close(relay->control);
	close(relay->slave);
	munmap(relay->shared, sizeof(*relay->shared));
	free(relay);
}

/* ---- orders ---- */

static void order_relay(struct relay *relay, enum relay_order order)
{
	char byte = (char)order;

	for (int i = 0; i < RELAY_TRIES; i++) {
		if (write(relay->control, &byte, 1) == 1) {
			__atomic_fetch_add(&relay->due, 1, __ATOMIC_RELAXED);
			return;
		}
	}
}

/* The end of the process is an answer, too. */
static void wait_for_answers(struct relay *relay, int most_ms)
{
	while (__atomic_load_n(&relay->due, __ATOMIC_RELAXED)) {
		if (take_answer(relay->control, most_ms))
			return;
		__atomic_fetch_sub(&relay->due, 1, __ATOMIC_RELAXED);
	}
}

void relay_hold(struct relay *relay, const char *leaving, size_t size)
{
	if (relay->is_held)
		return;
	relay->shared->leaving_size = size <= sizeof(relay->shared->leaving) ? size : 0;
	memcpy(relay->shared->leaving, leaving, relay->shared->leaving_size);
	__atomic_store_n(&relay->is_held, true, __ATOMIC_RELEASE);
	order_relay(relay, RELAY_HOLD);
	wait_for_answers(relay, ANSWER_MS);
}

bool relay_holds(const struct relay *relay)
{
	return __atomic_load_n(&relay->is_held, __ATOMIC_ACQUIRE);
}

void relay_let_go(struct relay *relay)
{
	if (__atomic_exchange_n(&relay->is_held, false, __ATOMIC_ACQ_REL))
		order_relay(relay, RELAY_PASS);
}

void relay_settle(struct relay *relay, int most_ms)
{
	__atomic_store_n(&relay->is_held, false, __ATOMIC_RELEASE);
	order_relay(relay, RELAY_PASS);
	wait_for_answers(relay, most_ms);
}

/* ---- the last line ---- */

bool relay_newest(const struct relay *relay, char line[RELAY_LINE])
{
	uint64_t end = atomic_load_explicit(&relay->shared->end, memory_order_acquire);
	uint64_t begin = end > TAIL_BYTES ? end - TAIL_BYTES : 0;
	char tail[TAIL_BYTES];

	for (uint64_t at = begin; at < end; at++)
		tail[at - begin] = relay->shared->bytes[at % RELAY_BYTES];
	atomic_thread_fence(memory_order_acquire);
	/* What was replaced meanwhile, or is being replaced. */
	if (atomic_load_explicit(&relay->shared->end, memory_order_relaxed) + RELAY_READ > begin + RELAY_BYTES)
		return false;
	return relay_last_line(tail, end - begin, line, RELAY_LINE);
}
