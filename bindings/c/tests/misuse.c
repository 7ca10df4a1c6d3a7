/* Arguments that are wrong are errors, and nothing is touched that was not handed over:
 * misuse MODULE.spv PROGRAM */
#include <splitbar.h>

#include <stdio.h>
#include <string.h>

static int failures;

static void expect(int holds, const char *what, int line) {
  if (!holds) {
    fprintf(stderr, "line %d: %s\n", line, what);
    failures++;
  }
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

/* Whether the one diagnostic of a result is about usage and says this; frees the result. */
static int says(splitbar_result *result, const char *words) {
  int holds = result && splitbar_result_diagnostic_count(result) == 1 &&
              strstr(splitbar_result_text(result), words) != NULL;
  if (!holds)
    fprintf(stderr, "%s", result ? splitbar_result_text(result) : "no result");
  splitbar_result_free(result);
  return holds;
}

static unsigned stages;

static void log_stage(void *user, uint32_t kind, const char *message) {
  EXPECT(user == &stages && message[0] != 0);
  stages += kind == SPLITBAR_LOG_STAGE;
}

int main(int count, char **arguments) {
  static unsigned char module[1 << 16];
  const splitbar_product plan[] = {SPLITBAR_PLAN}, code[] = {SPLITBAR_ASSEMBLY}, unknown[] = {99};
  const char *setting = "strategy=fused", *wrong = "strategy=none", *bare = "strategy";
  const char *no_text = "\xff\xfe", *none = NULL;
  struct {
    splitbar_options options;
    unsigned char more[16];
  } newer;
  struct {
    splitbar_diagnostic diagnostic;
    unsigned char behind[8];
  } found;
  splitbar_options options;
  splitbar_target target;
  splitbar_pass pass;
  splitbar_result *result = NULL;
  size_t size, i;
  FILE *file = count > 2 ? fopen(arguments[1], "rb") : NULL;
  if (!file)
    return 2;
  size = fread(module, 1, sizeof module, file);
  fclose(file);
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.target = "gfx1201";

#define COMPILE splitbar_compile(module, size, &options, plan, 1, &result)
  EXPECT(splitbar_abi_version() == SPLITBAR_ABI_VERSION);
  EXPECT(splitbar_version()[0] != 0);
  EXPECT(COMPILE == SPLITBAR_OK && splitbar_result_product_count(result) == 1);
  EXPECT(splitbar_result_product(result, 1, &i) == NULL && i == 0);
  EXPECT(splitbar_result_product(result, 0, NULL) != NULL);
  splitbar_result_free(result);

  /* Null pointers. */
  EXPECT(splitbar_compile(module, size, &options, plan, 1, NULL) == SPLITBAR_USAGE);
  EXPECT(splitbar_compile(NULL, size, &options, plan, 1, &result) == SPLITBAR_USAGE);
  EXPECT(says(result, "module is null"));
  EXPECT(splitbar_compile(module, size, NULL, plan, 1, &result) == SPLITBAR_USAGE);
  EXPECT(says(result, "no target"));
  EXPECT(splitbar_compile(module, size, &options, NULL, 1, &result) == SPLITBAR_USAGE);
  EXPECT(says(result, "products is null"));
  EXPECT(splitbar_check(NULL, 0, NULL, &result) == SPLITBAR_INVALID);
  splitbar_result_free(result);
  EXPECT(splitbar_run_passes(module, size, &none, 1, &result) == SPLITBAR_USAGE);
  EXPECT(says(result, "null pointer"));
  splitbar_result_free(NULL);
  EXPECT(splitbar_result_text(NULL) == NULL && splitbar_result_pair_count(NULL) == 0);

  /* What is not known. */
  EXPECT(splitbar_compile(module, size, &options, unknown, 1, &result) == SPLITBAR_USAGE);
  EXPECT(says(result, "no product 99"));
  options.target = "gfx99";
  EXPECT(COMPILE == SPLITBAR_USAGE && says(result, "no such target"));
  options.target = no_text;
  EXPECT(COMPILE == SPLITBAR_USAGE && says(result, "not UTF-8"));
  options.target = "gfx1201";
  options.settings = &wrong;
  options.setting_count = 1;
  EXPECT(COMPILE == SPLITBAR_USAGE && says(result, "no strategy"));
  options.settings = &bare;
  EXPECT(COMPILE == SPLITBAR_USAGE && says(result, "name=value"));
  options.settings = NULL;
  EXPECT(COMPILE == SPLITBAR_USAGE && says(result, "settings is null"));
  options.settings = &setting;
  EXPECT(COMPILE == SPLITBAR_OK);
  EXPECT(strstr((const char *)splitbar_result_product(result, 0, &i), "fused") != NULL);
  splitbar_result_free(result);
  options.settings = NULL;
  options.setting_count = 0;
  options.time_limit = -1;
  options.isolate = 1;
  EXPECT(COMPILE == SPLITBAR_USAGE && says(result, "time_limit"));
  options.time_limit = 0;
  options.isolate = 0;
  options.reserved = 1;
  EXPECT(COMPILE == SPLITBAR_USAGE && says(result, "reserved"));
  options.reserved = 0;

  /* Sizes of structures. */
  options.struct_size = 4;
  EXPECT(COMPILE == SPLITBAR_USAGE && says(result, "struct_size is 4"));
  options.struct_size = (size_t)-1;
  EXPECT(COMPILE == SPLITBAR_USAGE && says(result, "struct_size"));
  options.struct_size = sizeof options;
  memset(&newer, 0, sizeof newer);
  newer.options = options;
  newer.options.struct_size = sizeof newer;
  EXPECT(splitbar_compile(module, size, &newer.options, plan, 1, &result) == SPLITBAR_OK);
  splitbar_result_free(result);
  newer.more[15] = 1;
  EXPECT(splitbar_compile(module, size, &newer.options, plan, 1, &result) == SPLITBAR_USAGE);
  EXPECT(says(result, "take a newer one"));

  /* Diagnostics have places; a structure is filled in as far as it goes. */
  module[0] ^= 1;
  EXPECT(splitbar_check(module, size, NULL, &result) == SPLITBAR_INVALID);
  memset(&found, 0x5a, sizeof found);
  found.diagnostic.struct_size = sizeof found.diagnostic;
  EXPECT(splitbar_result_diagnostic(result, 0, &found.diagnostic) == SPLITBAR_OK);
  EXPECT(strncmp(found.diagnostic.code, "SB", 2) == 0 && found.diagnostic.message[0] != 0);
  EXPECT(found.diagnostic.severity == SPLITBAR_ERROR && found.behind[0] == 0x5a);
  EXPECT(splitbar_result_json(result)[0] == '{');
  EXPECT(splitbar_result_diagnostic(result, 99, &found.diagnostic) == SPLITBAR_USAGE);
  EXPECT(splitbar_result_diagnostic(result, 0, NULL) == SPLITBAR_USAGE);
  found.diagnostic.struct_size = 1;
  EXPECT(splitbar_result_diagnostic(result, 0, &found.diagnostic) == SPLITBAR_USAGE);
  splitbar_result_free(result);
  module[0] ^= 1;

  /* Tables. */
  memset(&target, 0, sizeof target);
  target.struct_size = sizeof target;
  for (i = 0; splitbar_target_get(i, &target) == SPLITBAR_OK; i++)
    EXPECT(target.name[0] != 0 && target.strategy[0] != 0 && target.wave_size_count > 0 &&
           target.wave_sizes[0] >= 32 && target.lds_bytes > 0);
  EXPECT(i == splitbar_target_count() && i > 50);
  memset(&pass, 0, sizeof pass);
  pass.struct_size = sizeof pass;
  for (i = 0; splitbar_pass_get(i, &pass) == SPLITBAR_OK; i++)
    EXPECT(pass.name[0] != 0 && pass.about[0] != 0);
  EXPECT(i == splitbar_pass_count() && i > 5);

  /* The log. */
  options.log = log_stage;
  options.log_user = &stages;
  EXPECT(COMPILE == SPLITBAR_OK && stages >= 3);
  splitbar_result_free(result);

  /* A worker makes code whatever the library has, and ends in time. */
  options.worker = arguments[2];
  EXPECT(splitbar_compile(module, size, &options, code, 1, &result) == SPLITBAR_OK);
  EXPECT(splitbar_result_product(result, 0, &i) != NULL && i > 1000);
  splitbar_result_free(result);
  options.time_limit = 1e-6;
  EXPECT(splitbar_compile(module, size, &options, code, 1, &result) == SPLITBAR_UNSUPPORTED);
  EXPECT(says(result, "did not end within"));
  options.time_limit = 0;
  options.worker = "no/such/program";
  EXPECT(splitbar_compile(module, size, &options, code, 1, &result) != SPLITBAR_OK);
  EXPECT(says(result, "cannot be started"));
  options.worker = NULL;
  EXPECT(splitbar_compile(module, size, &options, code, 1, &result) ==
         (splitbar_has_llvm() ? SPLITBAR_OK : SPLITBAR_UNSUPPORTED));
  splitbar_result_free(result);
  return failures != 0;
}
