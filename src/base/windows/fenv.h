// How floats are computed on this thread. MinGW-w64's own fesetenv leaves the control word of SSE as it is when it is told to set the
// default, and everything here is computed by SSE; so a game that flushes small numbers to zero would get another hash.
#ifndef WEIR_BASE_WINDOWS_FENV_H
#define WEIR_BASE_WINDOWS_FENV_H

typedef unsigned fenv_t;

#define FE_DFL_ENV ((const fenv_t *)0)
#define fegetenv windows_fegetenv
#define fesetenv windows_fesetenv

static inline int windows_fegetenv(fenv_t *now)
{
    *now = __builtin_ia32_stmxcsr();
    return 0;
}

static inline int windows_fesetenv(const fenv_t *wanted)
{
    __builtin_ia32_ldmxcsr(wanted ? *wanted : 0x1f80);
    return 0;
}

#endif
