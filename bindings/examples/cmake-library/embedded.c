/* Writes the kernel that is embedded in this program: embedded amd|nvidia */
#include "embedded_kernels.h"

#include <stdio.h>
#include <string.h>

int main(int count, char **arguments) {
  if (count != 2)
    return 2;
  if (strcmp(arguments[1], "amd") == 0)
    return fwrite(kernel_gfx1201, 1, kernel_gfx1201_size, stdout) != kernel_gfx1201_size;
  /* PTX is text, and ends with a 0 for functions that take strings. */
  if (strlen((const char *)kernel_sm_90) != kernel_sm_90_size)
    return 1;
  return fputs((const char *)kernel_sm_90, stdout) == EOF;
}
