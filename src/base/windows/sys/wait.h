// Waiting for a program that was started; see spawn.h.
#ifndef WEIR_BASE_WINDOWS_SYS_WAIT_H
#define WEIR_BASE_WINDOWS_SYS_WAIT_H

#include <sys/types.h>

#define waitpid windows_waitpid

pid_t waitpid(pid_t process, int *status, int options);

// Every program ends with a number, a killed one too.
#define WIFEXITED(status) 1
#define WEXITSTATUS(status) (status)

#endif
