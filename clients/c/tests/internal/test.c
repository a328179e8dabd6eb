/* The tests in C: what the ends do with each other, and what is inside. */
#include "check.h"

int failures;

int main(void) {
    const char *lanes[] = {"shm", "tcp"};
    test_hashes();
    test_addresses();
    test_json();
    test_links();
    test_responses();
    test_frames();
    test_missing_pieces();
    for (int i = 0; i < 2; i++) {
        printf("%s\n", lanes[i]);
        test_types(lanes[i]);
        test_pieces(lanes[i]);
        test_errors(lanes[i]);
        test_progress(lanes[i]);
        test_cancel(lanes[i]);
        test_stream(lanes[i]);
        test_allocation(lanes[i]);
    }
    test_lost_connection();
    test_lost_stream();
    test_stream_without_receiver();
    test_candidates();
    printf(failures == 0 ? "all right\n" : "%d failures\n", failures);
    return failures != 0;
}
