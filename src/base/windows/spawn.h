// Another program, started with files in place of its standard ones; see posix.h. As much of it as app/video.c needs.
#ifndef WEIR_BASE_WINDOWS_SPAWN_H
#define WEIR_BASE_WINDOWS_SPAWN_H

#include <sys/types.h>

#define posix_spawn_file_actions_init windows_file_actions_init
#define posix_spawn_file_actions_adddup2 windows_file_actions_adddup2
#define posix_spawn_file_actions_addopen windows_file_actions_addopen
#define posix_spawn_file_actions_destroy windows_file_actions_destroy
#define posix_spawnattr_init windows_spawnattr_init
#define posix_spawnattr_setpgroup windows_spawnattr_setpgroup
#define posix_spawnattr_setflags windows_spawnattr_setflags
#define posix_spawnattr_destroy windows_spawnattr_destroy
#define posix_spawnp windows_spawnp
#define pipe(ends) windows_pipe(ends)
#define kill windows_kill
#define fcntl windows_fcntl

#define POSIX_SPAWN_SETPGROUP 1
#define F_SETFD 1
#define FD_CLOEXEC 1

typedef struct posix_spawn_file_actions_t {
    int files[3];  // that become standard input, output and errors; -1: none
    int opened;    // by posix_spawn_file_actions_addopen; -1: none
} posix_spawn_file_actions_t;

typedef struct posix_spawnattr_t {
    short flags;
} posix_spawnattr_t;

int posix_spawn_file_actions_init(posix_spawn_file_actions_t *actions);
int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int file, int as);
int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *actions, int as, const char *path, int flags, int mode);
int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *actions);
int posix_spawnattr_init(posix_spawnattr_t *manner);
int posix_spawnattr_setpgroup(posix_spawnattr_t *manner, pid_t group);
int posix_spawnattr_setflags(posix_spawnattr_t *manner, short flags);
int posix_spawnattr_destroy(posix_spawnattr_t *manner);

// The environment is the caller's own.
int posix_spawnp(pid_t *process, const char *name, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *manner,
                 char *const words[], char *const surroundings[]);

// Both ends are for this program alone unless they are given to one that it starts; so there is nothing that fcntl has to change.
int windows_pipe(int ends[2]);
int kill(pid_t process, int number);

static inline int fcntl(int file, int command, int value)
{
    (void)file, (void)command, (void)value;
    return 0;
}

#endif
