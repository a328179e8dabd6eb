// The C API from C++: sends an array to itself, on one machine, and prints what arrived.
#include "pellucid.h"

#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

int main() {
    const std::string token = "correct horse battery";
    std::vector<float> voxels(2 * 3 * 4);
    std::iota(voxels.begin(), voxels.end(), 0.0f);
    pellucid_listener *listener = nullptr;
    pellucid_error error;
    if (pellucid_listen("127.0.0.1:0", token.c_str(), nullptr, &listener, &error) != PELLUCID_OK) {
        std::fprintf(stderr, "%s\n", error.what);
        return 1;
    }
    int sent = -1;
    std::thread sender([&] {
        pellucid_array scan = {};
        scan.data = voxels.data();
        scan.axes = 3;
        scan.shape[0] = 2, scan.shape[1] = 3, scan.shape[2] = 4;
        scan.type = PELLUCID_FLOAT32;
        scan.name = "scan";
        sent = pellucid_send(pellucid_listener_address(listener), token.c_str(), &scan, nullptr, nullptr, nullptr);
    });
    pellucid_array received;
    int code = pellucid_receive(listener, 20, &received, nullptr, &error);
    sender.join();
    bool is_same = code == PELLUCID_OK && sent == PELLUCID_OK &&
                   pellucid_bytes(&received) == sizeof(float) * voxels.size() &&
                   std::memcmp(received.data, voxels.data(), sizeof(float) * voxels.size()) == 0;
    std::printf("%s %s\n", is_same ? received.name : error.what, is_same ? "right" : "wrong");
    pellucid_free(&received);
    pellucid_listener_close(listener);
    return is_same ? 0 : 1;
}
