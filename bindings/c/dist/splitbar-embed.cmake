# Writes a C file with the bytes of INPUT: cmake -DINPUT=... -DNAME=... -DOUTPUT=... -P splitbar-embed.cmake
file(READ "${INPUT}" bytes HEX)
string(LENGTH "${bytes}" size)
math(EXPR size "${size} / 2")
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
# Lines of 16 bytes.
string(REPEAT "0x..," 16 line)
string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
# The 0 after the bytes ends text, such as PTX, for functions that take strings.
file(WRITE "${OUTPUT}" "/* Generated from the output of splitbar; do not change. */
#include <stddef.h>
extern const unsigned char ${NAME}[];
extern const size_t ${NAME}_size;
const unsigned char ${NAME}[] = {
${bytes}0};
const size_t ${NAME}_size = ${size};
")
