/* SPDX-License-Identifier: Apache-2.0 */
/* What `corral oci` does to the command line and the files of a container engine. */
#include "base/auto.h"
#include "base/str.h"
#include "oci/oci.h"
#include "test.h"

#include <fcntl.h>
#include <unistd.h>

/* As docker 20.10 and podman 4.3 call a runtime. */
#define DOCKER_CREATE                                                                              \
	{                                                                                          \
		"--root", "/run/r", "--log", "/b/log.json", "--log-format", "json", "create",      \
			"--bundle", "/b", "--pid-file", "/b/init.pid", "c1"                        \
	}

static int read_line(size_t n, const char *const *words, struct oci_line *ret) {
	struct err e = {0};
	const char *all[32] = {NULL};
	memcpy(all, words, n * sizeof *words);
	int rc = oci_line_read(all, n, ret, &e);
	CHECK(rc == 0 || (e.kind == ERR_USAGE && e.what[0] != '\0'));
	return rc;
}

#define WORDS(...) ARRAY_LEN(((const char *[])__VA_ARGS__)), ((const char *[])__VA_ARGS__)

TEST(the_lines_of_engines_are_understood) {
	struct oci_line l;

	CHECK_INT(read_line(WORDS(DOCKER_CREATE), &l), 0);
	CHECK(l.action == OCI_CREATE && l.subcommand == 6 && l.bundle == 8 && l.id == 11);
	CHECK_INT(read_line(WORDS({"--systemd-cgroup", "exec", "--process=/p", "-d", "c1"}), &l),
		  0);
	CHECK(l.action == OCI_EXEC && l.process == 2 && l.process_at == 10 && l.id == 4);
	CHECK_INT(read_line(WORDS({"--root=/r", "start", "c1"}), &l), 0);
	CHECK(l.action == OCI_PASS);
	CHECK_INT(read_line(WORDS({"--version"}), &l), 0);
	CHECK(l.action == OCI_PASS);
	CHECK_INT(read_line(WORDS({"create", "-b", "/b", "--", "c1"}), &l), 0);
	CHECK(l.bundle == 2 && l.id == 4);
}

TEST(the_log_is_found_in_lines_that_are_refused) {
	const char *refused[] = {"--log", "/l", "--root=/r", "restore", "c1", NULL};
	const char *joined[] = {"--root", "/r", "--log=/m", "--unknown", NULL};
	const char *none[] = {"create", "--log", "/l", "c1", NULL};

	CHECK_STR(oci_line_log(refused, 5), "/l");
	CHECK_STR(oci_line_log(joined, 4), "/m");
	CHECK(oci_line_log(none, 4) == NULL);
}

TEST(a_line_that_is_not_understood_is_refused) {
	struct oci_line l;

	CHECK_INT(read_line(WORDS({"restore", "--bundle", "/b", "c1"}), &l), -1);
	CHECK_INT(read_line(WORDS({"--unknown", "create", "c1"}), &l), -1);
	CHECK_INT(read_line(WORDS({"create", "--config", "/other.json", "c1"}), &l), -1);
	CHECK_INT(read_line(WORDS({"create", "--unknown", "c1"}), &l), -1);
	CHECK_INT(read_line(WORDS({"exec", "c1", "sh"}), &l), -1);
	CHECK_INT(read_line(WORDS({"exec", "--process", "/p", "--cwd", "/x", "c1"}), &l), -1);
	CHECK_INT(read_line(WORDS({"exec", "--process", "/p", "c1", "sh"}), &l), -1);
	CHECK_INT(read_line(WORDS({"create", "--bundle"}), &l), -1);
	CHECK_INT(read_line(WORDS({"--root"}), &l), -1);
	CHECK_INT(read_line(WORDS({"spec"}), &l), -1);
}

/* ---- config.json ---- */

static const char config[] =
	"{\"annotations\":{\"a\":\"b\"},\"process\":{\"cwd\":\"/"
	"work\",\"args\":[\"--level\",\"none\"],"
	"\"env\":[\"PATH=/bin:rel:/usr/bin\",\"HOME=/"
	"h\",\"LD_PRELOAD=x\",\"CORRAL_LEVEL=none\",\"9=x\"],"
	"\"rlimits\":[{\"hard\":18446744073709551615}]},\"root\":{\"path\":\"rootfs\"},\"mounts\":["
	"{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"},"
	"{\"destination\":\"/data\",\"type\":\"bind\",\"source\":\"vol\",\"options\":[\"rbind\"]},"
	"{\"destination\":\"/ref\",\"type\":\"bind\",\"source\":\"/"
	"\",\"options\":[\"bind\",\"ro\"]},"
	"{\"destination\":\"/etc/hosts\",\"type\":\"bind\",\"source\":\"/etc/hosts\"},"
	"{\"destination\":\"/var/run/secrets/kubernetes.io/serviceaccount\",\"type\":\"bind\","
	"\"source\":\"/t\",\"options\":[\"ro\"]},"
	"{\"destination\":\"/var/run/secrets/cloud\",\"type\":\"bind\",\"source\":\"/c\"},"
	"{\"destination\":\"/run/secrets/x\",\"type\":\"bind\",\"source\":\"/x\"}],"
	"\"linux\":{\"maskedPaths\":[\"/proc/kcore\",\"/proc/sched_debug\",\"/sys/firmware\"],"
	"\"readonlyPaths\":[\"/proc/sys\"],\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ERRNO\","
	"\"syscalls\":[{\"names\":[\"read\",\"clone\"],\"action\":\"SCMP_ACT_ALLOW\"},"
	"{\"names\":[\"clone3\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":38},"
	"{\"names\":[\"bpf\"],\"action\":\"SCMP_ACT_ERRNO\"}]}}}";

static const struct oci_sources sources = {"/b", "/usr/bin/corral", "/etc/corral/oci.toml"};

static bool has(const json_t *array, const char *text) {
	size_t i;
	json_t *item;
	json_array_foreach(array, i, item) {
		if (json_is_string(item) && streq(json_string_value(item), text)) {
			return true;
		}
	}
	return false;
}

/* The index of the word after `text` in the array; 0: none. */
static const char *after(const json_t *array, const char *text) {
	for (size_t i = 0; i + 1 < json_array_size(array); i++) {
		const char *word = json_string_value(json_array_get(array, i));
		if (word != NULL && streq(word, text)) {
			return json_string_value(json_array_get(array, i + 1));
		}
	}
	return "";
}

static json_t *at(const json_t *from, const char *first, const char *second) {
	return json_object_get(json_object_get(from, first), second);
}

static json_t *read_text(const char *text) {
	char path[] = "/tmp/corral-oci-XXXXXX";
	struct err e = {0};
	json_t *value = NULL;
	auto_fd fd = mkstemp(path);

	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK_INT(oci_json_read(path, &value, &e), 0);
	CHECK_INT(unlink(path), 0);
	return value;
}

TEST(keys_that_differ_in_case_alone_are_refused) {
	const char *bad[] = {
		"{\"process\":{},\"Process\":{}}", "{\"process\":{\"args\":[],\"aRgs\":[]}}",
		"{\"mounts\":[{\"type\":\"a\",\"TYPE\":\"b\"}]}", "{\"proce\305\277s\":{}}"};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		char path[] = "/tmp/corral-oci-XXXXXX";
		struct err e = {0};
		json_t *value = NULL;
		auto_fd fd = mkstemp(path);

		CHECK(write(fd, bad[i], strlen(bad[i])) == (ssize_t)strlen(bad[i]));
		CHECK_INT(oci_json_read(path, &value, &e), -1);
		CHECK_INT(unlink(path), 0);
	}
	json_decref(read_text("{\"annotations\":{\"a\":\"1\",\"A\":\"2\"}}"));
}

TEST(the_args_become_a_run_that_they_cannot_change) {
	struct err e = {0};
	json_t *spec = read_text(config), *given = NULL;

	CHECK_INT(oci_spec_wrap(spec, &sources, &given, &e), 0);
	const json_t *args = at(spec, "process", "args");
	size_t n = json_array_size(args);
	CHECK_STR(json_string_value(json_array_get(args, 0)), OCI_PROGRAM);
	CHECK_STR(json_string_value(json_array_get(args, 1)), "run");
	/* the args of the image come after the end of the options */
	CHECK_STR(json_string_value(json_array_get(args, n - 3)), "--");
	CHECK_STR(json_string_value(json_array_get(args, n - 2)), "--level");
	CHECK(has(args, "--no-config") && streq(after(args, "--policy"), OCI_POLICY));
	CHECK_STR(after(args, "--workspace"), "/work");
	CHECK_STR(after(args, "--set"), "env.path=/bin:/usr/bin");
	CHECK(has(args, "LD_PRELOAD") && !has(args, "HOME") && !has(args, "CORRAL_LEVEL") &&
	      !has(args, "9"));
	/* volumes are grants; the engine's own files and the pod's token are not */
	CHECK_STR(after(given, "--write"), "/data");
	CHECK_STR(after(given, "--read"), "/ref");
	CHECK_STR(after(given, "--deny"), "/var/run/secrets/kubernetes.io/serviceaccount");
	CHECK_STR(after(given, "/var/run/secrets/kubernetes.io/serviceaccount"), "--deny");
	CHECK(has(given, "/var/run/secrets/cloud") && !has(given, "/run/secrets/x"));
	CHECK(!has(given, "/etc/hosts") && !has(given, "/proc"));
	json_decref(spec);
	json_decref(given);
}

TEST(relative_paths_begin_in_the_bundle_of_the_engine) {
	struct err e = {0};
	json_t *spec = read_text(config), *given = NULL;

	CHECK_INT(oci_spec_wrap(spec, &sources, &given, &e), 0);
	CHECK_STR(json_string_value(at(spec, "root", "path")), "/b/rootfs");
	const json_t *mounts = json_object_get(spec, "mounts");
	CHECK_STR(json_string_value(json_object_get(json_array_get(mounts, 1), "source")),
		  "/b/vol");
	/* Corral's own come last, so that nothing covers them */
	const json_t *last = json_array_get(mounts, json_array_size(mounts) - 2);
	CHECK_STR(json_string_value(json_object_get(last, "destination")), OCI_PROGRAM);
	json_decref(spec);
	json_decref(given);
}

TEST(a_mount_over_corrals_own_is_refused) {
	struct err e = {0};
	json_t *spec = read_text(config), *given = NULL;
	json_t *mount =
		json_pack("{s:s, s:s}", "destination", "/run/corral/corral", "type", "bind");

	CHECK_INT(json_array_append_new(json_object_get(spec, "mounts"), mount), 0);
	CHECK_INT(oci_spec_wrap(spec, &sources, &given, &e), -1);
	CHECK_INT(e.kind, ERR_REFUSED);
	json_decref(spec);
}

TEST(masks_that_the_sandbox_makes_itself_are_removed_all_or_none) {
	struct err e = {0};
	json_t *spec = read_text(config), *given = NULL;

	CHECK_INT(oci_spec_wrap(spec, &sources, &given, &e), 0);
	CHECK_INT(json_array_size(at(spec, "linux", "maskedPaths")), 1);
	CHECK(has(at(spec, "linux", "maskedPaths"), "/sys/firmware"));
	CHECK_INT(json_array_size(at(spec, "linux", "readonlyPaths")), 0);
	json_decref(spec);
	json_decref(given);
	spec = read_text(config);
	CHECK_INT(json_array_append_new(at(spec, "linux", "maskedPaths"),
					json_string("/proc/secret_of_a_driver")),
		  0);
	CHECK_INT(oci_spec_wrap(spec, &sources, &given, &e), 0);
	CHECK_INT(json_array_size(at(spec, "linux", "maskedPaths")), 4);
	CHECK_INT(json_array_size(at(spec, "linux", "readonlyPaths")), 1);
	json_decref(spec);
	json_decref(given);
}

TEST(only_the_calls_of_the_set_up_are_added_to_the_profile) {
	struct err e = {0};
	json_t *spec = read_text(config), *given = NULL;

	CHECK_INT(oci_spec_wrap(spec, &sources, &given, &e), 0);
	const json_t *rules = json_object_get(at(spec, "linux", "seccomp"), "syscalls");
	CHECK_INT(json_array_size(rules), 3); /* that of clone3 is empty, and gone */
	const json_t *first = json_object_get(json_array_get(rules, 0), "names");
	CHECK(has(first, "read") && !has(first, "clone"));
	const json_t *added = json_object_get(json_array_get(rules, 2), "names");
	CHECK(has(added, "clone") && has(added, "clone3") && has(added, "umount2"));
	CHECK(!has(added, "bpf") && !has(added, "ptrace") && !has(added, "keyctl"));
	json_decref(spec);
	json_decref(given);
}

TEST(a_profile_that_allows_by_default_gets_no_rule) {
	struct err e = {0};
	json_t *seccomp =
		json_pack("{s:s, s:[{s:[s,s], s:s}]}", "defaultAction", "SCMP_ACT_ALLOW",
			  "syscalls", "names", "umount2", "bpf", "action", "SCMP_ACT_ERRNO");

	CHECK_INT(oci_seccomp_allow(seccomp, &e), 0);
	const json_t *rules = json_object_get(seccomp, "syscalls");
	CHECK_INT(json_array_size(rules), 1);
	CHECK(!has(json_object_get(json_array_get(rules, 0), "names"), "umount2"));
	json_decref(seccomp);
	CHECK_INT(oci_seccomp_allow(NULL, &e), 0);
}

TEST(pause_containers_are_those_of_the_two_annotations) {
	json_t *pod = json_pack("{s:{s:s}}", "annotations", "io.kubernetes.cri.container-type",
				"sandbox");
	json_t *other = json_pack("{s:{s:s}}", "annotations", "io.kubernetes.cri.container-type",
				  "container");
	/* The engine's own says what it is, and a user's is copied beside it. */
	json_t *copied =
		json_pack("{s:{s:s,s:s}}", "annotations", "io.kubernetes.cri.container-type",
			  "sandbox", "io.kubernetes.cri-o.ContainerType", "container");
	json_t *spec = read_text(config);

	CHECK(oci_spec_is_pause(pod) && !oci_spec_is_pause(other) && !oci_spec_is_pause(spec));
	CHECK(!oci_spec_is_pause(copied));
	json_decref(copied);
	json_decref(pod);
	json_decref(other);
	json_decref(spec);
}

TEST(large_numbers_survive) {
	char path[] = "/tmp/corral-oci-XXXXXX", text[4096] = "";
	struct err e = {0};
	auto_fd fd = mkstemp(path);
	json_t *spec =
		read_text("{\"a\":18446744073709551615,\"b\":-9223372036854775807,"
			  "\"c\":\"18446744073709551615\",\"d\":[\"\\\"18446744073709551615\"]}");

	CHECK_INT(oci_json_write(path, spec, &e), 0);
	auto_fd again = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(read(again, text, sizeof text - 1) > 0);
	CHECK(strstr(text, "\"a\":18446744073709551615") != NULL);
	CHECK(strstr(text, "\"b\":-9223372036854775807") != NULL);
	CHECK(strstr(text, "\"c\":\"18446744073709551615\"") != NULL);
	CHECK_INT(unlink(path), 0);
	json_decref(spec);
}

TEST(a_directory_that_no_run_takes_as_workspace_is_only_the_working_directory) {
	struct err e = {0};
	json_t *given = json_array();
	json_t *process =
		json_pack("{s:s, s:[s], s:[s]}", "cwd", "/h", "args", "true", "env", "HOME=/h");

	CHECK_INT(oci_process_wrap(process, given, &e), 0);
	CHECK_STR(after(json_object_get(process, "args"), "--workspace"), OCI_SCRATCH);
	CHECK_STR(after(json_object_get(process, "args"), "--chdir"), "/h");
	json_decref(process);
	process = json_pack("{s:s, s:[]}", "cwd", "/h", "args");
	CHECK_INT(oci_process_wrap(process, given, &e), -1);
	json_decref(process);
	json_decref(given);
}

TESTS_MAIN
