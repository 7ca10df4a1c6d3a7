/* Sixteen threads compile at once, each for a target of its own turn, and read one result that they
 * share: threads MODULE.spv */
#define _POSIX_C_SOURCE 200809L
#include <splitbar.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 16
#define TARGETS 4

static const char *const targets[TARGETS] = {"gfx1201", "sm_90", "gfx942", "sm_70"};
static unsigned char module[1 << 16];
static size_t module_size;
static splitbar_result *expected[TARGETS];

static splitbar_result *compile(size_t target) {
  const splitbar_product products[] = {SPLITBAR_ASSEMBLY, SPLITBAR_REFLECTION};
  splitbar_options options = {0};
  splitbar_result *result = NULL;
  options.struct_size = sizeof options;
  options.target = targets[target];
  if (splitbar_compile(module, module_size, &options, products, 2, &result) != SPLITBAR_OK)
    fprintf(stderr, "%s: %s\n", targets[target], splitbar_result_text(result));
  return result;
}

static int same(const splitbar_result *left, const splitbar_result *right) {
  size_t product, sizes[2];
  for (product = 0; product < 2; product++) {
    const unsigned char *one = splitbar_result_product(left, product, &sizes[0]);
    const unsigned char *two = splitbar_result_product(right, product, &sizes[1]);
    if (!one || !two || sizes[0] != sizes[1] || memcmp(one, two, sizes[0]) != 0)
      return 0;
  }
  return 1;
}

static void *work(void *number) {
  size_t target = *(const size_t *)number % TARGETS;
  splitbar_result *result = compile(target);
  int is_same = same(result, expected[target]);
  splitbar_result_free(result);
  return is_same ? number : NULL;
}

int main(int count, char **arguments) {
  pthread_t threads[THREADS];
  size_t numbers[THREADS], i;
  int failed = 0;
  FILE *file = count > 1 ? fopen(arguments[1], "rb") : NULL;
  if (!file)
    return 2;
  module_size = fread(module, 1, sizeof module, file);
  fclose(file);
  for (i = 0; i < TARGETS; i++)
    expected[i] = compile(i);
  for (i = 0; i < THREADS; i++) {
    numbers[i] = i;
    if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0)
      return 2;
  }
  for (i = 0; i < THREADS; i++) {
    void *made = NULL;
    pthread_join(threads[i], &made);
    failed += made == NULL;
  }
  for (i = 0; i < TARGETS; i++)
    splitbar_result_free(expected[i]);
  printf("%d of %d threads differ\n", failed, THREADS);
  return failed != 0;
}
