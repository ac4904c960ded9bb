# SPDX-License-Identifier: Apache-2.0
"""PCRE2 with its JIT through ctypes: fast enough for hundreds of patterns over hundreds of megabytes."""
import ctypes

LIBRARY = "libpcre2-8.so.0"
JIT_COMPLETE = 1
NOMATCH = -1


def library():
    lib = ctypes.CDLL(LIBRARY)
    pointer, size, uint32 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
    lib.pcre2_compile_8.restype = pointer
    lib.pcre2_compile_8.argtypes = [ctypes.c_char_p, size, uint32, ctypes.POINTER(ctypes.c_int),
                                    ctypes.POINTER(size), pointer]
    lib.pcre2_jit_compile_8.argtypes = [pointer, uint32]
    lib.pcre2_match_data_create_from_pattern_8.restype = pointer
    lib.pcre2_match_data_create_from_pattern_8.argtypes = [pointer, pointer]
    lib.pcre2_match_8.argtypes = [pointer, ctypes.c_char_p, size, size, uint32, pointer, pointer]
    lib.pcre2_get_ovector_pointer_8.restype = ctypes.POINTER(size)
    lib.pcre2_get_ovector_pointer_8.argtypes = [pointer]
    return lib


LIB = library()


class Match:
    """As much of re.Match as the checks need."""

    def __init__(self, data, spans):
        self.data, self.spans = data, spans

    def group(self, number):
        start, end = self.spans[number]
        return self.data[start:end]

    def start(self):
        return self.spans[0][0]

    def end(self):
        return self.spans[0][1]


class Regex:
    def __init__(self, pattern):
        error, place = ctypes.c_int(), ctypes.c_size_t()
        self.code = LIB.pcre2_compile_8(pattern, len(pattern), 0, ctypes.byref(error), ctypes.byref(place), None)
        if self.code is None or LIB.pcre2_jit_compile_8(self.code, JIT_COMPLETE) != 0:
            raise ValueError(f"PCRE2 error {error.value} at {place.value}: {pattern!r}")
        self.found = LIB.pcre2_match_data_create_from_pattern_8(self.code, None)

    def finditer(self, data):
        at = 0
        while True:
            count = LIB.pcre2_match_8(self.code, data, len(data), at, 0, self.found, None)
            if count == NOMATCH:
                return
            if count < 0:
                raise ValueError(f"PCRE2 error {count}")
            ends = LIB.pcre2_get_ovector_pointer_8(self.found)
            match = Match(data, [(ends[2 * n], ends[2 * n + 1]) for n in range(count)])
            yield match
            at = max(match.end(), at + 1)
