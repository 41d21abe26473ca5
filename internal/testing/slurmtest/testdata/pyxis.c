/* A stand-in for pyxis, the plugin that runs steps in containers: it takes
 * pyxis's options and honours --container-mounts=FROM:TO[:ro],... : a task sees
 * the node's files, and what is mounted over them. The image is only told, in
 * SLURMTEST_IMAGE: programs are the host's. The plugin's argument is an empty
 * directory for it to mount on. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

SPANK_PLUGIN(pyxis, 1)

static char *image, *mounts;

static int take(int option, const char *arg, int remote)
{
	if (option == 1)
		image = strdup(arg);
	else if (option == 2)
		mounts = strdup(arg);
	return 0;
}

static struct spank_option options[] = {
	{ "container-image", "IMAGE", "told, not used", 1, 1, take },
	{ "container-mounts", "FROM:TO[:ro],...", "mounts", 1, 2, take },
	{ "container-name", "NAME", "ignored", 1, 3, take },
	{ "container-workdir", "DIR", "ignored", 1, 4, take },
	{ "container-save", "PATH", "ignored", 1, 5, take },
	{ "container-env", "NAMES", "ignored", 1, 6, take },
	{ "container-mount-home", NULL, "ignored", 0, 7, take },
	{ "no-container-mount-home", NULL, "ignored", 0, 8, take },
	{ "container-remap-root", NULL, "ignored", 0, 9, take },
	{ "no-container-remap-root", NULL, "ignored", 0, 10, take },
	{ "container-entrypoint", NULL, "ignored", 0, 11, take },
	{ "no-container-entrypoint", NULL, "ignored", 0, 12, take },
	{ "container-writable", NULL, "ignored", 0, 13, take },
	{ "container-readonly", NULL, "ignored", 0, 14, take },
};

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (spank_option_register(sp, &options[i]) != ESPANK_SUCCESS)
			return -1;
	return 0;
}

static int failed(const char *what, const char *path)
{
	slurm_error("pyxis: %s %s: %s", what, path, strerror(errno));
	return -1;
}

/* Makes what something is to be mounted on, and the directories above it. */
static int place(const char *path, int dir)
{
	char part[PATH_MAX];
	FILE *f;

	for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
		if (mkdir(part, 0755) && errno != EEXIST)
			return -1;
	}
	if (dir)
		return mkdir(path, 0755) && errno != EEXIST ? -1 : 0;
	return (f = fopen(path, "a")) ? fclose(f) : -1;
}

static int attach(const char *from, const char *to, int read_only)
{
	struct stat st;

	if (stat(from, &st))
		return failed("no such file to mount:", from);
	if (place(to, S_ISDIR(st.st_mode)) || mount(from, to, NULL, MS_BIND | MS_REC, NULL))
		return failed("cannot mount on", to);
	if (read_only && mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
		return failed("cannot make read-only", to);
	return 0;
}

/* A root of its own for this task, with all that lies in the node's: only so can
 * there be new directories at the top. */
static int new_root(const char *root)
{
	char from[PATH_MAX], to[PATH_MAX], link[PATH_MAX] = "";
	struct dirent *e;
	struct stat st;
	DIR *d;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("pyxis", root, "tmpfs", 0, "mode=755") || !(d = opendir("/")))
		return failed("cannot make a root at", root);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(from, sizeof from, "/%s", e->d_name);
		snprintf(to, sizeof to, "%s/%s", root, e->d_name);
		if (lstat(from, &st) || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)))
			continue;
		if (!S_ISLNK(st.st_mode)) {
			if (attach(from, to, 0))
				return -1;
		} else if (readlink(from, memset(link, 0, sizeof link), sizeof link - 1) < 0 || symlink(link, to))
			return failed("cannot link", to);
	}
	closedir(d);
	return 0;
}

int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av)
{
	char cwd[PATH_MAX], to[PATH_MAX], *rest, *one, *from, *in, *flags;
	const char *root = av[0];

	if (image)
		spank_setenv(sp, "SLURMTEST_IMAGE", image, 1);
	if (!mounts)
		return 0;
	if (!getcwd(cwd, sizeof cwd))
		strcpy(cwd, "/");
	if (new_root(root))
		return -1;
	for (one = strtok_r(mounts, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		from = strsep(&one, ":");
		in = strsep(&one, ":");
		flags = one;
		snprintf(to, sizeof to, "%s/%s", root, in ? in : from);
		if (attach(from, to, flags && strstr(flags, "ro")))
			return -1;
	}
	if (chroot(root) || (chdir(cwd) && chdir("/")))
		return failed("cannot change to", root);
	return 0;
}
