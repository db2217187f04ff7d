/* A capture program that misbehaves on request: probe INTERFACE PORT MODE...
 * It counts UDP datagrams to PORT on a packet socket without a ring, and prints
 * "counted N" on standard output when SIGINT or SIGTERM ends it. */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ended;
static void end(int signal) { (void)signal; ended = 1; }

static int has(char **argv, const char *mode) {
    for (; *argv; argv++)
        if (!strcmp(*argv, mode)) return 1;
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) return 64;
    char **modes = argv + 3;
    unsigned port = atoi(argv[2]);
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (has(modes, "deaf")) signal(SIGINT, SIG_IGN);
    if (has(modes, "stubborn")) signal(SIGINT, SIG_IGN), signal(SIGTERM, SIG_IGN);
    if (has(modes, "no-right")) {
        fprintf(stderr, "probe: you may not capture on %s\n", argv[1]);
        return 1;
    }
    if (has(modes, "background") && fork()) return 0;
    if (has(modes, "background")) setsid();
    if (has(modes, "no-socket")) {
        fprintf(stderr, "waiting for the moon\n");
        while (!ended) pause();
        return 0;
    }
    int s = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    address.sll_ifindex = if_nametoindex(argv[1]);
    if (s < 0 || bind(s, (struct sockaddr *)&address, sizeof address)) return perror("probe"), 1;
    int one = 1;
    setsockopt(s, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one);
    fprintf(stderr, "listening on %s\n", argv[1]);
    if (has(modes, "worker") && !fork()) {
        signal(SIGTERM, SIG_DFL), signal(SIGINT, SIG_IGN);
        for (;;) pause();
    }
    if (has(modes, "leaves") && !fork()) {
        setsid();
        for (;;) pause();
    }
    unsigned long counted = 0;
    unsigned char frame[2048];
    while (!ended) {
        ssize_t length = recv(s, frame, sizeof frame, 0);
        if (length < 42 || frame[23] != 17 || (frame[36] << 8 | frame[37]) != (int)port) continue;
        counted++;
        if (has(modes, "flood"))
            for (int i = 0; i < 200; i++) fprintf(stderr, "%0900d\n", i);
        if (has(modes, "dies") && counted == 20) {
            fprintf(stderr, "probe: out of luck\n");
            return 5;
        }
        if (has(modes, "spawns") && counted % 100 == 0 && !fork()) _exit(0);
        if (has(modes, "spawns")) while (waitpid(-1, NULL, WNOHANG) > 0) {}
    }
    if (has(modes, "more")) counted += 1000000;
    printf("counted %lu\n", counted);
    fflush(stdout);
    return 0;
}
