/* SPDX-License-Identifier: Apache-2.0 */
/* The declarations of macOS that Corral uses, so that its macOS room compiles to Mach-O objects on
 * a system without Apple's headers.
 *
 * Should:   declare only the used ones; a build on a Mac uses Apple's own headers instead.
 * Must not: be relied on for a layout that a run depends on without a check there:
 *           scripts/macos-report.sh compiles with Apple's headers.
 * Fails:    at compile time.
 *
 * The facts are those of the manual pages and of Apple's published source (XNU: bsd/sys/event.h,
 * resource.h, proc_info.h, spawn.h, stat.h, dirent.h, fcntl.h; Libc: include; CommonCrypto), for
 * 64-bit processes and macOS 13. */
#ifndef CORRAL_MACOS_SDK_DARWIN_H
#define CORRAL_MACOS_SDK_DARWIN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* On x86-64 the functions with 64-bit inodes have names of their own (stat(2)). */
#ifdef __x86_64__
#define INODE64(name) __asm("_" name "$INODE64")
#else
#define INODE64(name)
#endif

typedef long ssize_t;
typedef int64_t off_t;
typedef int32_t pid_t;
typedef uint32_t uid_t, gid_t, id_t;
typedef uint16_t mode_t, nlink_t;
typedef int32_t dev_t;
typedef uint64_t ino_t, rlim_t;
typedef long time_t, suseconds_t_long;
typedef int32_t suseconds_t;

struct timespec {
	time_t tv_sec;
	long tv_nsec;
};
struct timeval {
	time_t tv_sec;
	suseconds_t tv_usec;
};

/* ---- errno.h ---- */
extern int *__error(void);
#define errno (*__error())
#define EPERM 1
#define ENOENT 2
#define EINTR 4
#define EIO 5
#define EBADF 9
#define ENOMEM 12
#define EACCES 13
#define EEXIST 17
#define ENODEV 19
#define EISDIR 21
#define ENOTTY 25
#define ENOTDIR 20
#define EINVAL 22
#define ERANGE 34
#define EPIPE 32
#define EAGAIN 35
#define EWOULDBLOCK EAGAIN
#define EBUSY 16
#define EXDEV 18
#define ENFILE 23
#define EFBIG 27
#define EMFILE 24
#define ENOSPC 28
#define EROFS 30
#define ENOPROTOOPT 42
#define EPROTONOSUPPORT 43
#define ENOTSUP 45
#define EAFNOSUPPORT 47
#define ETOOMANYREFS 59
#define ETIMEDOUT 60
#define ELOOP 62
#define ENOTEMPTY 66
#define EDQUOT 69
#define ESTALE 70
#define ENOSYS 78
#define EOPNOTSUPP 102
#define EOWNERDEAD 105
#define ENAMETOOLONG 63

/* ---- assert.h, ctype.h, locale.h ---- */
void __assert_rtn(const char *function, const char *file, int line, const char *text)
	__attribute__((noreturn));
#define assert(e)                                                                                  \
	(__builtin_expect(!(e), 0) ? __assert_rtn(__func__, __FILE__, __LINE__, #e) : (void)0)
int isalnum(int c);
int isalpha(int c);
int isdigit(int c);
int isprint(int c);
int isspace(int c);
int isupper(int c);
int isxdigit(int c);
int tolower(int c);
int toupper(int c);
typedef struct _xlocale *locale_t;
#define LC_ALL_MASK 0x3f
#define LC_NUMERIC_MASK (1 << 4)
locale_t newlocale(int mask, const char *locale, locale_t base);
int freelocale(locale_t l);
double strtod_l(const char *s, char **end, locale_t l);

/* ---- string.h, strings.h ---- */
void *memchr(const void *s, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memcpy(void *to, const void *from, size_t n);
void *memmem(const void *big, size_t big_len, const void *little, size_t little_len);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *s, int c, size_t n);
int memset_s(void *s, size_t size, int c, size_t n);
char *strchr(const char *s, int c);
int strcmp(const char *a, const char *b);
size_t strcspn(const char *s, const char *set);
char *strcasestr(const char *big, const char *little);
char *strdup(const char *s);
char *strerror(int n);
size_t strlen(const char *s);
int strncmp(const char *a, const char *b, size_t n);
size_t strnlen(const char *s, size_t n);
char *strpbrk(const char *s, const char *set);
char *strrchr(const char *s, int c);
char *strsep(char **s, const char *set);
size_t strspn(const char *s, const char *set);
char *strstr(const char *big, const char *little);
char *strtok_r(char *s, const char *set, char **last);
int strcasecmp(const char *a, const char *b);
int strncasecmp(const char *a, const char *b, size_t n);

/* ---- stdlib.h, stdio.h ---- */
void *aligned_alloc(size_t align, size_t size);
void *calloc(size_t n, size_t size);
void free(void *p);
int mkostemp(char *name, int flags);
void *malloc(size_t n);
void *realloc(void *p, size_t n);
void abort(void) __attribute__((noreturn));
void exit(int status) __attribute__((noreturn));
char *getenv(const char *name);
void qsort(void *base, size_t n, size_t size, int (*order)(const void *, const void *));
char *realpath(const char *path, char *out) __asm("_realpath$DARWIN_EXTSN");
double strtod(const char *s, char **end);
long strtol(const char *s, char **end, int base);
long long strtoll(const char *s, char **end, int base);
unsigned long strtoul(const char *s, char **end, int base);
unsigned long long strtoull(const char *s, char **end, int base);
void arc4random_buf(void *to, size_t n);
typedef struct __sFILE FILE;
extern FILE *__stdoutp, *__stderrp;
#define stdout __stdoutp
#define stderr __stderrp
int fflush(FILE *f);
int fprintf(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int fputs(const char *s, FILE *f);
size_t fwrite(const void *from, size_t size, size_t n, FILE *f);
int rename(const char *from, const char *to);
int snprintf(char *out, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *out, size_t n, const char *fmt, va_list ap);
int sscanf(const char *s, const char *fmt, ...);
#define FNM_PATHNAME 2
int fnmatch(const char *pattern, const char *s, int flags);

/* ---- fcntl.h, unistd.h, sys/stat.h, dirent.h ---- */
#define O_RDONLY 0
#define O_WRONLY 1
#define O_RDWR 2
#define O_NONBLOCK 4
#define O_APPEND 8
#define LOCK_EX 2
#define LOCK_NB 4
#define O_NOFOLLOW 0x100
#define O_CREAT 0x200
#define O_TRUNC 0x400
#define O_EXCL 0x800
#define O_NOCTTY 0x20000
#define O_DIRECTORY 0x100000
#define O_SYMLINK 0x200000
#define O_SEARCH (0x40000000 | O_DIRECTORY)
#define O_NOFOLLOW_ANY 0x20000000
#define O_CLOEXEC 0x1000000
#define F_GETFD 1
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4
#define FD_CLOEXEC 1
#define F_UNLCK 2
#define F_WRLCK 3
#define F_GETPATH 50
#define F_FULLFSYNC 51
#define F_OFD_SETLK 90
#define STDIN_FILENO 0
#define SEEK_SET 0
#define SEEK_END 2
struct flock {
	off_t l_start, l_len;
	pid_t l_pid;
	short l_type, l_whence;
};
#define F_PREALLOCATE 42
#define F_ALLOCATEALL 4
#define F_PEOFPOSMODE 3
typedef struct fstore {
	uint32_t fst_flags;
	int fst_posmode;
	off_t fst_offset, fst_length, fst_bytesalloc;
} fstore_t;
#define AT_FDCWD (-2)
#define AT_EACCESS 0x10
#define AT_SYMLINK_NOFOLLOW 0x20
#define AT_REMOVEDIR 0x80
int faccessat(int dir, const char *path, int mode, int flags);
ssize_t freadlink(int fd, char *out, size_t n);
int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int mkdirat(int dir, const char *path, mode_t mode);
int renameat(int from_dir, const char *from, int to_dir, const char *to);
#define RENAME_EXCL 4
int renameatx_np(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int symlinkat(const char *words, int dir, const char *path);
int unlinkat(int dir, const char *path, int flags);
int openat(int dir, const char *path, int flags, ...);
int flock(int fd, int what);
off_t lseek(int fd, off_t at, int whence);
ssize_t pread(int fd, void *to, size_t n, off_t at);
ssize_t pwrite(int fd, const void *from, size_t n, off_t at);
int fsync(int fd);
int ftruncate(int fd, off_t size);
int link(const char *from, const char *to);
int open(const char *path, int flags, ...);
int fcntl(int fd, int what, ...);
int close(int fd);
ssize_t read(int fd, void *to, size_t n);
ssize_t write(int fd, const void *from, size_t n);
ssize_t readlink(const char *path, char *out, size_t n);
char *getcwd(char *out, size_t n);
int chdir(const char *path);
int access(const char *path, int mode);
#define F_OK 0
#define X_OK 1
#define W_OK 2
#define R_OK 4
int unlink(const char *path);
int rmdir(const char *path);
int pipe(int fds[2]);
int dup2(int from, int to);
pid_t fork(void);
pid_t getpid(void);
pid_t getppid(void);
pid_t getsid(pid_t pid);
pid_t setsid(void);
uid_t getuid(void);
uid_t geteuid(void);
gid_t getgid(void);
gid_t getegid(void);
long pathconf(const char *path, int name);
#define _PC_CASE_SENSITIVE 11
void _exit(int status) __attribute__((noreturn));
unsigned sleep(unsigned seconds);
int usleep(unsigned us);
int isatty(int fd);
struct stat {
	dev_t st_dev;
	mode_t st_mode;
	nlink_t st_nlink;
	ino_t st_ino;
	uid_t st_uid;
	gid_t st_gid;
	dev_t st_rdev;
	struct timespec st_atimespec, st_mtimespec, st_ctimespec, st_birthtimespec;
	off_t st_size;
	int64_t st_blocks;
	int32_t st_blksize;
	uint32_t st_flags, st_gen;
	int32_t st_lspare;
	int64_t st_qspare[2];
};
#define S_IFMT 0170000
#define S_IFDIR 0040000
#define S_IFREG 0100000
#define S_IFLNK 0120000
#define S_IFIFO 0010000
#define S_IFCHR 0020000
#define S_IFBLK 0060000
#define S_ISGID 0002000
#define S_ISVTX 0001000
#define S_IFSOCK 0140000
#define S_IRWXG 0000070
#define S_IWGRP 0000020
#define S_IRWXO 0000007
#define S_IWOTH 0000002
#define S_ISDIR(m) (((m)&S_IFMT) == S_IFDIR)
#define S_ISREG(m) (((m)&S_IFMT) == S_IFREG)
#define S_ISLNK(m) (((m)&S_IFMT) == S_IFLNK)
int stat(const char *path, struct stat *out) INODE64("stat");
int lstat(const char *path, struct stat *out) INODE64("lstat");
int fstat(int fd, struct stat *out) INODE64("fstat");
int fstatat(int dir, const char *path, struct stat *out, int flags) INODE64("fstatat");
int fchmod(int fd, mode_t mode);
int mkdir(const char *path, mode_t mode);
mode_t umask(mode_t mask);
struct dirent {
	uint64_t d_ino, d_seekoff;
	uint16_t d_reclen, d_namlen;
	uint8_t d_type;
	char d_name[1024];
};
typedef struct _dir DIR;
#define DT_UNKNOWN 0
#define DT_DIR 4
#define DT_REG 8
#define DT_LNK 10
DIR *opendir(const char *path) INODE64("opendir");
DIR *fdopendir(int fd) INODE64("fdopendir");
int dirfd(DIR *d);
void rewinddir(DIR *d) INODE64("rewinddir");
struct dirent *readdir(DIR *d) INODE64("readdir");
int closedir(DIR *d);
struct passwd {
	char *pw_name, *pw_passwd;
	uid_t pw_uid;
	gid_t pw_gid;
	time_t pw_change;
	char *pw_class, *pw_gecos, *pw_dir, *pw_shell;
	time_t pw_expire;
};
struct passwd *getpwuid(uid_t uid);

/* ---- sys/mman.h ---- */
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_SHARED 1
#define MAP_ANONYMOUS 0x1000
#define MAP_FAILED ((void *)-1)
void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t from);
int munmap(void *at, size_t len);

/* ---- signal.h, sys/wait.h, sys/resource.h, time.h ---- */
#define SIGHUP 1
#define SIGINT 2
#define SIGPIPE 13
#define SIGKILL 9
#define SIGTERM 15
#define SIGXCPU 24
#define SIGXFSZ 25
#define SIGSTOP 17
#define SIG_DFL ((void (*)(int))0)
#define SIG_IGN ((void (*)(int))1)
typedef uint32_t sigset_t;
#define sigemptyset(s) (*(s) = 0, 0)
#define sigfillset(s) (*(s) = ~(sigset_t)0, 0)
void (*signal(int sig, void (*handler)(int)))(int);
int kill(pid_t pid, int sig);
#define WNOHANG 1
#define WIFEXITED(s) (((s)&0177) == 0)
#define WEXITSTATUS(s) (((s) >> 8) & 0xff)
#define WTERMSIG(s) ((s)&0177)
#define WIFSIGNALED(x) (((x)&0177) != 0177 && ((x)&0177) != 0)
struct rlimit {
	rlim_t rlim_cur, rlim_max;
};
#define RLIMIT_CPU 0
#define RLIMIT_FSIZE 1
#define RLIMIT_DATA 2
#define RLIMIT_STACK 3
#define RLIMIT_CORE 4
#define RLIMIT_AS 5
#define RLIMIT_RSS 5
#define RLIMIT_MEMLOCK 6
#define RLIMIT_NPROC 7
#define RLIMIT_NOFILE 8
#define RLIM_INFINITY (((rlim_t)1 << 63) - 1)
int getrlimit(int resource, struct rlimit *out);
int setrlimit(int resource, const struct rlimit *in);
struct rusage {
	struct timeval ru_utime, ru_stime;
	long ru_maxrss, ru_rest[13];
};
pid_t wait4(pid_t pid, int *status, int flags, struct rusage *out);
pid_t waitpid(pid_t pid, int *status, int flags);
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 6
int nanosleep(const struct timespec *time, struct timespec *left);
int clock_gettime(int clock, struct timespec *out);

/* ---- spawn.h ---- */
typedef void *posix_spawnattr_t, *posix_spawn_file_actions_t;
#define POSIX_SPAWN_SETSIGDEF 0x0004
#define POSIX_SPAWN_SETSIGMASK 0x0008
#define POSIX_SPAWN_SETEXEC 0x0040
#define POSIX_SPAWN_CLOEXEC_DEFAULT 0x4000
int posix_spawnattr_init(posix_spawnattr_t *a);
int posix_spawnattr_destroy(posix_spawnattr_t *a);
int posix_spawnattr_setflags(posix_spawnattr_t *a, short flags);
int posix_spawnattr_setsigdefault(posix_spawnattr_t *a, const sigset_t *set);
int posix_spawnattr_setsigmask(posix_spawnattr_t *a, const sigset_t *set);
int posix_spawn_file_actions_init(posix_spawn_file_actions_t *f);
int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *f);
int posix_spawn_file_actions_addinherit_np(posix_spawn_file_actions_t *f, int fd);
int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *f,
		const posix_spawnattr_t *a, char *const argv[], char *const env[]);
int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *f,
		 const posix_spawnattr_t *a, char *const argv[], char *const env[]);

/* ---- sys/event.h ---- */
struct kevent {
	uintptr_t ident;
	int16_t filter;
	uint16_t flags;
	uint32_t fflags;
	intptr_t data;
	void *udata;
};
#define EVFILT_READ (-1)
#define EVFILT_PROC (-5)
#define EVFILT_SIGNAL (-6)
#define EV_ADD 1
#define EV_DELETE 2
#define EV_ERROR 0x4000
#define EV_EOF 0x8000
#define NOTE_EXIT 0x80000000U
#define EV_SET(k, a, b, c, d, e, f)                                                                \
	(*(k) = (struct kevent){(uintptr_t)(a), (int16_t)(b), (uint16_t)(c), (uint32_t)(d),        \
				(intptr_t)(e), (f)})
int kqueue(void);
int kevent(int kq, const struct kevent *changes, int nchanges, struct kevent *events, int nevents,
	   const struct timespec *timeout);

/* ---- libproc.h ---- */
#define PROC_ALL_PIDS 1
#define PROC_PIDTBSDINFO 3
struct proc_bsdinfo {
	uint32_t pbi_flags, pbi_status, pbi_xstatus, pbi_pid, pbi_ppid;
	uid_t pbi_uid;
	gid_t pbi_gid;
	uid_t pbi_ruid;
	gid_t pbi_rgid;
	uid_t pbi_svuid;
	gid_t pbi_svgid;
	uint32_t rfu_1;
	char pbi_comm[16], pbi_name[32];
	uint32_t pbi_nfiles, pbi_pgid, pbi_pjobc, e_tdev, e_tpgid;
	int32_t pbi_nice;
	uint64_t pbi_start_tvsec, pbi_start_tvusec;
};
int proc_listpids(uint32_t type, uint32_t typeinfo, void *out, int size);
int proc_pidinfo(int pid, int flavor, uint64_t arg, void *out, int size);
#define RUSAGE_INFO_V2 2
typedef void *rusage_info_t;
struct rusage_info_v2 {
	uint8_t ri_uuid[16];
	uint64_t ri_user_time, ri_system_time, ri_pkg_idle_wkups, ri_interrupt_wkups, ri_pageins,
		ri_wired_size, ri_resident_size, ri_phys_footprint, ri_proc_start_abstime,
		ri_proc_exit_abstime, ri_child_user_time, ri_child_system_time,
		ri_child_pkg_idle_wkups, ri_child_interrupt_wkups, ri_child_pageins,
		ri_child_elapsed_abstime, ri_diskio_bytesread, ri_diskio_byteswritten;
};
int proc_pid_rusage(int pid, int flavor, rusage_info_t *out);

/* ---- CommonCrypto/CommonDigest.h ---- */
unsigned char *CC_SHA256(const void *data, uint32_t len, unsigned char *out);

#endif
