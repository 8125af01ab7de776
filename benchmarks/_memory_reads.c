/* The floor of a sweep: read /proc/PID/smaps_rollup of some processes, again and again, and nothing else.
 *
 * Usage: reads ROUNDS PID...; prints the CPU time of each round in ns, one a line.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv) {
    char path[64], text[8192];
    for (int round = 0; round < atoi(argv[1]); round++) {
        long long began = cpu_ns();
        for (int i = 2; i < argc; i++) {
            snprintf(path, sizeof path, "/proc/%s/smaps_rollup", argv[i]);
            int fd = open(path, O_RDONLY | O_CLOEXEC);
            if (fd < 0 || read(fd, text, sizeof text) <= 0) {
                perror(path);
                return 1;
            }
            close(fd);
        }
        printf("%lld\n", cpu_ns() - began);
    }
    return 0;
}
