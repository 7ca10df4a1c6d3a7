// Runs passes over a module: passes IN.spv OUT.spv PASS... It links libsplitbar_passes alone.
#include <splitbar.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Free {
  void operator()(splitbar_result *result) const { splitbar_result_free(result); }
};
using Result = std::unique_ptr<splitbar_result, Free>;
using Bytes = std::vector<unsigned char>;

Bytes read(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// The module that the passes make of this one; an error is an exception with all diagnostics.
Bytes run(const Bytes &module, const std::vector<const char *> &passes) {
  splitbar_result *raw = nullptr;
  const auto status = splitbar_run_passes(module.data(), module.size(), passes.data(),
                                          passes.size(), &raw);
  const Result result(raw);
  if (status != SPLITBAR_OK)
    throw std::runtime_error(splitbar_result_text(result.get()));
  std::size_t size = 0;
  const unsigned char *bytes = splitbar_result_product(result.get(), 0, &size);
  return Bytes(bytes, bytes + size);
}

} // namespace

int main(int count, char **arguments) try {
  if (count < 3) {
    for (std::size_t i = 0; i < splitbar_pass_count(); i++) {
      splitbar_pass pass = {};
      pass.struct_size = sizeof pass;
      if (splitbar_pass_get(i, &pass) == SPLITBAR_OK)
        std::cout << pass.name << ": " << pass.about << '\n';
    }
    return 0;
  }
  const Bytes changed = run(read(arguments[1]), {arguments + 3, arguments + count});
  std::ofstream(arguments[2], std::ios::binary)
      .write(reinterpret_cast<const char *>(changed.data()),
             static_cast<std::streamsize>(changed.size()));
  return 0;
} catch (const std::exception &error) {
  std::cerr << error.what();
  return 1;
}
