// Libraries that are looked for while the program runs; see posix.h.
#ifndef WEIR_BASE_WINDOWS_DLFCN_H
#define WEIR_BASE_WINDOWS_DLFCN_H

#define RTLD_NOW 0
#define RTLD_LOCAL 0

#define dlopen windows_dlopen
#define dlsym windows_dlsym
#define dlerror windows_dlerror

void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *name);
char *dlerror(void);

#endif
