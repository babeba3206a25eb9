// Libraries that are looked for while the program runs; see posix.h.
#ifndef WEIR_BASE_WINDOWS_DLFCN_H
#define WEIR_BASE_WINDOWS_DLFCN_H

#define RTLD_NOW 0
#define RTLD_LOCAL 0

void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *name);
char *dlerror(void);

#endif
