/* Checks a module, lists its pairs, and compiles it: compile MODULE.spv GPU [name=value ...] */
#include <splitbar.h>

#include <stdio.h>
#include <stdlib.h>

static unsigned char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  unsigned char *bytes = NULL;
  long length;
  *size = 0;
  if (file && fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0 &&
      fseek(file, 0, SEEK_SET) == 0 && (bytes = malloc((size_t)length + 1)) != NULL)
    *size = fread(bytes, 1, (size_t)length, file);
  if (file)
    fclose(file);
  return bytes;
}

/* Prints what a result has to say, and frees it. */
static int done(splitbar_result *result, int status) {
  size_t i;
  for (i = 0; i < splitbar_result_diagnostic_count(result); i++) {
    splitbar_diagnostic found = {0};
    found.struct_size = sizeof found;
    if (splitbar_result_diagnostic(result, i, &found) == SPLITBAR_OK)
      fprintf(stderr, "%s: %s\n", found.code, found.message);
  }
  splitbar_result_free(result);
  return status;
}

int main(int count, char **arguments) {
  const splitbar_product wanted[] = {SPLITBAR_ASSEMBLY};
  splitbar_options options = {0};
  splitbar_result *result = NULL;
  const unsigned char *assembly;
  unsigned char *module;
  size_t size, i;
  int status;

  if (count < 3 || splitbar_abi_version() < SPLITBAR_ABI_VERSION)
    return 2;
  module = read_file(arguments[1], &size);
  options.struct_size = sizeof options;
  options.target = arguments[2];

  status = splitbar_check(module, size, &options, &result);
  if (done(result, status) != SPLITBAR_OK)
    return status;

  status = splitbar_list_pairs(module, size, NULL, &result);
  for (i = 0; i < splitbar_result_pair_count(result); i++) {
    splitbar_pair pair = {0};
    pair.struct_size = sizeof pair;
    if (splitbar_result_pair(result, i, &pair) == SPLITBAR_OK)
      fprintf(stderr, "pair %u of %s: arrives at word %u, %u operations in its window\n", pair.id,
              pair.entry, pair.arrives[0], pair.operations);
  }
  if (done(result, status) != SPLITBAR_OK)
    return status;

  options.settings = (const char *const *)(arguments + 3);
  options.setting_count = (size_t)(count - 3);
  status = splitbar_compile(module, size, &options, wanted, 1, &result);
  assembly = splitbar_result_product(result, 0, &i);
  if (assembly)
    fwrite(assembly, 1, i, stdout);
  free(module);
  return done(result, status);
}
