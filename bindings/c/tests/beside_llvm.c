/* libsplitbar beside another LLVM in one process, whose symbols are global, loaded before it or
 * after it: beside_llvm MODULE.spv LIBSPLITBAR LIBLLVM before|after. Prints the assembly. */
#define _GNU_SOURCE
#include <splitbar.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef void *(*create_context)(void);
typedef void *(*create_module)(const char *, void *);
typedef char *(*print_module)(void *);
typedef void (*initialize)(void);
typedef splitbar_status (*compile_function)(const uint8_t *, size_t, const splitbar_options *,
                                            const splitbar_product *, size_t, splitbar_result **);
typedef const uint8_t *(*product_function)(const splitbar_result *, size_t, size_t *);

/* A function of a library; objects and functions have pointers of one form here. */
static int find(void *library, const char *name, void *function) {
  void *at = dlsym(library, name);
  if (!at)
    fprintf(stderr, "no %s\n", name);
  memcpy(function, &at, sizeof at);
  return at != NULL;
}

/* Uses the other LLVM, with its own back end for AMD. */
static int use_llvm(void *llvm) {
  create_context context;
  create_module module;
  print_module print;
  initialize info, target;
  char *text;
  if (!find(llvm, "LLVMContextCreate", &context) || !find(llvm, "LLVMPrintModuleToString", &print) ||
      !find(llvm, "LLVMModuleCreateWithNameInContext", &module) ||
      !find(llvm, "LLVMInitializeAMDGPUTargetInfo", &info) ||
      !find(llvm, "LLVMInitializeAMDGPUTarget", &target))
    return 0;
  info();
  target();
  text = print(module("beside", context()));
  return strstr(text, "beside") != NULL;
}

int main(int count, char **arguments) {
  static unsigned char module[1 << 16];
  const splitbar_product products[] = {SPLITBAR_ASSEMBLY};
  splitbar_options options = {0};
  splitbar_result *result = NULL;
  void *splitbar, *llvm = NULL;
  compile_function compile;
  product_function product;
  const uint8_t *assembly;
  size_t size;
  int turn;
  FILE *file = count > 4 ? fopen(arguments[1], "rb") : NULL;
  if (!file)
    return 2;
  size = fread(module, 1, sizeof module, file);
  fclose(file);
  if (strcmp(arguments[4], "before") == 0)
    llvm = dlopen(arguments[3], RTLD_NOW | RTLD_GLOBAL);
  splitbar = dlopen(arguments[2], RTLD_NOW | RTLD_GLOBAL);
  if (!llvm)
    llvm = dlopen(arguments[3], RTLD_NOW | RTLD_GLOBAL);
  if (!splitbar || !llvm) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  if (!find(splitbar, "splitbar_compile", &compile) ||
      !find(splitbar, "splitbar_result_product", &product))
    return 2;
  options.struct_size = sizeof options;
  options.target = "gfx1201";
  for (turn = 0; turn < 2; turn++) {
    if (!use_llvm(llvm))
      return 1;
    if (compile(module, size, &options, products, 1, &result) != SPLITBAR_OK)
      return 1;
  }
  assembly = product(result, 0, &size);
  return fwrite(assembly, 1, size, stdout) == size ? 0 : 1;
}
