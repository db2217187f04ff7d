/* A small flow probe on libpcap, for tests that compare its revisions: it reads a file or an
 * interface, mixes every packet's bytes into a checksum, counts flows, and says what it did. */
#include <pcap.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rounds of mixing a packet. */
#define ROUNDS 1000
/* Rounds a packet that change nothing. */
#define EXTRA 0
/* Rounds of work before the first packet. */
#define START 0
/* Read time limit of the capture, ms; 0 waits for a full block. */
#define TIMEOUT 10
/* Packets are left out of the checksum one in so many; 0 leaves out none. */
#define SKIP 0

static pcap_t *capture;
static uint64_t units, checksum = 0xcbf29ce484222325u;

static uint64_t mix(uint64_t hash, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		hash ^= hash >> 29;
		hash *= 0x9e3779b97f4a7c15u;
	}
	return hash;
}

static void packet(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
	(void)user;
	units++;
	if (SKIP && units % SKIP == 0)
		return;
	uint64_t hash = header->len;
	for (bpf_u_int32 i = 0; i < header->caplen && i < 64; i++)
		hash = hash * 31 + bytes[i];
	hash = mix(hash + units, ROUNDS);
	checksum ^= hash;
	/* After the rounds before it, since a processor works at what does not wait in the meantime. */
	volatile uint64_t extra = mix(hash, EXTRA);
	(void)extra;
}

static void stop(int number)
{
	(void)number;
	pcap_breakloop(capture);
}

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "probe: %s: %s\n", what, why);
	return 1;
}

int main(int argc, char **argv)
{
	char why[PCAP_ERRBUF_SIZE] = "";
	int live = argc > 2 && !strcmp(argv[1], "-i");

	if (argc < 3)
		return fail("usage", "probe -r FILE | probe -i INTERFACE [FILTER]");
	volatile uint64_t start = mix(1, START);
	(void)start;
	if (live) {
		capture = pcap_create(argv[2], why);
		if (!capture)
			return fail(argv[2], why);
		pcap_set_snaplen(capture, 128);
		pcap_set_timeout(capture, TIMEOUT);
		pcap_set_buffer_size(capture, 16 << 20);
		if (pcap_activate(capture) < 0)
			return fail(argv[2], pcap_geterr(capture));
		struct bpf_program filter;
		if (argc > 3 && (pcap_compile(capture, &filter, argv[3], 1, PCAP_NETMASK_UNKNOWN) < 0 ||
				 pcap_setfilter(capture, &filter) < 0))
			return fail(argv[3], pcap_geterr(capture));
	} else {
		capture = pcap_open_offline(argv[2], why);
		if (!capture)
			return fail(argv[2], why);
	}
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	if (pcap_loop(capture, -1, packet, NULL) == PCAP_ERROR)
		return fail(argv[2], pcap_geterr(capture));
	printf("packets processed: %llu\n", (unsigned long long)units);
	struct pcap_stat stat;
	if (live && pcap_stats(capture, &stat) == 0)
		printf("packets received: %u\npackets dropped: %u\n", stat.ps_recv, stat.ps_drop);
	printf("{\"units\":%llu,\"checksum\":\"%016llx\"}\n", (unsigned long long)units,
	       (unsigned long long)checksum);
	return 0;
}
