/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked commands that a reading of the text or of the options hides, and harmless neighbours. */
#include "command_world.h"

#include <sys/resource.h>

TEST(text_that_hides_a_command) {
	static const struct row rows[] = {
		{'?', ": \"${x#'\"'}\"; git push --force; : \"a\" #}\""},
		{'?', ": $'\\'; git push --force #'"},
		{'?', ": \"$\\\n(git push --force)\""},
		{'-', ": \"`git push \\\"--force\\\"`\""},
		{'?', "cat <<\"E\\F\"\nE\\F\ngit push --force\nEF\n"},
		{'?', "echo $(cat <<E)\ngit push --force\nE\n"},
		{'?', "((1+'));x='))\ngit push --force # '"},
		{'?', "x='a[$(git push --force)]'; ((x))"},
		{'?', "PS4='$(git push --force)' bash -xc :"},
		{'?', "x='$(git push --force)'; echo ${x@P}"},
		{'?', "hash -p /tmp/x git; git status"},
		{'?', "jobs -x git push --force"},
		{'?', "compgen -C 'git push --force'"},
		{'-', "trap -- 'git push --force' EXIT"},
		{'-', "eval -- git push --force"},
		{'-', "time -- git push --force"},
		{'-', "time -o /dev/null git push --force"},
		{'-', "{fd}>/dev/null git push --force"},
		{'-', "coproc git push --force"},
		{'-', "bash -oc pipefail 'git push --force'"},
		{'-', "dash -oc errexit 'git push --force'"},
		{'-', "bash -rcfile x -c 'git push --force'"},
		{'-', "bash -c - 'git push --force'"},
		{'-', "git push --force\n'"},
		{'?', "echo 'git push --force' | sh"},
		{'?', "sh <<E\ngit push --force\nE\n"},
		{'?', "bash <<<'git push --force'"},
		{'?', "bash -s x <y"},
		{'?', "bash /dev/stdin <y"},
		{'?', "bash <(echo git push --force)"},
		{'?', "bash $x script"},
		{'+', "bash script x"},
		{'+', "bash --version"},
		{'+', "hash -r; jobs"},
		{'+', "git commit -m \"$(cat <<'EOF'\ngit push --force `x` $(y)\nEOF\n)\""},
		{'+', "git log --grep \"push --force\""},
		{'+', "echo \"git push --force\""},
		{'+', "for f in *.c; do gcc -c \"$f\"; done"},
		{'+', "x=${y#'a'}; ((i++)); n=$((n + 1))"},
		{'+', "declare x=1; export y=2; read z"},
		{'+', "time make"},
		{'+', "cat > f <<EOF\na \\\n b $x\nEOF\ngit add f"},
		{'+', "trap - EXIT; trap 'git status' EXIT"},
	};
	begin("");
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(options_of_programs_that_start_others) {
	static const struct row rows[] = {
		{'-', "xargs -i git push --force"},
		{'-', "xargs --replace git push --force"},
		{'-', "xargs --eof git push --force"},
		{'-', "xargs --max-lines git push --force"},
		{'-', "xargs -l -e git push --force"},
		{'-', "xargs -0rn 1 git push --force"},
		{'?', "xargs -I % git % --force"},
		{'?', "xargs -I % % push --force"},
		{'?', "xargs --replace=% git % --force"},
		{'?', "xargs --max-a 1 git push --force"},
		{'?', "env -iS 'git push --force'"},
		{'?', "env --s='git push --force'"},
		{'?', "env --sp 'git push --force'"},
		{'?', "env --uns X git push --force"},
		{'?', "timeout --sig KILL 5 git push --force"},
		{'?', "nice --adj 5 git push --force"},
		{'?', "stdbuf --out L git push --force"},
		{'?', "nice -n $x git push --force"},
		{'?', "flock -nc 'git push --force' x"},
		{'-', "env - git push --force"},
		{'-', "env -- A=1 git push --force"},
		{'-', "env a-b=c git push --force"},
		{'-', "timeout -- 5 git push --force"},
		{'-', "nice -5 git push --force"},
		{'-', "timeout --signal=KILL --foreground 5 git push --force"},
		{'?', "setarch x86_64 git push --force"},
		{'?', "prlimit --nofile=9 git push --force"},
		{'?', "setpriv --no-new-privs git push --force"},
		{'?', "ssh-agent git push --force"},
		{'?', "find +main -maxdepth 0 -exec git push origin {} \\;"},
		{'?', "find . -exec git {} --force \\;"},
		{'-', "find . -exec git push + --force \\;"},
		{'?', "find . \"$x\" git push --force \\;"},
		{'?', "find . $x"},
		{'+', "find \"$d\" -name '*.c'"},
		{'+', "find . -name '*.c' -exec git add {} +"},
		{'+', "find . -type f -exec grep -l x {} \\;"},
		{'+', "env A=1 make"},
		{'+', "xargs -n 1 echo"},
		{'+', "xargs -I{} cp {} x"},
		{'+', "timeout 5 make"},
	};
	begin("");
	check_rows(rows, ARRAY_LEN(rows));
}

/* An option without a row may take the next word or not. */
TEST(both_readings_of_an_option) {
	static const struct row rows[] = {
		{'-', "git --shallow-file x push --force"},
		{'-', "git --unknown x push --force"},
		{'-', "git --unknown push --force"},
		{'-', "git --unknown x push origin +main"},
		{'-', "git -x y push -f"},
		{'-', "git -xC y push -f"},
		{'-', "git push --unknown -- -f"},
		{'?', "git --config-env=alias.x=Y x"},
		{'?', "git --config-env alias.x=Y x"},
		{'?', "git --exec-path=. x"},
		{'?', "git -c include.path=x y"},
		{'?', "git -c includeIf.gitdir:/.path=x y"},
		{'?', "git -c core.sshCommand=x fetch"},
		{'-', "/usr/lib/git-core/git-push --force"},
		{'-', "git-push -f"},
		{'+', "git-push origin"},
		{'-', "tool sub --opt x erase"},
		{'-', "go --unknown build install"},
		{'-', "go --unknown x build"},
		{'+', "git --no-pager log push --force"},
		{'+', "git -c core.pager=cat log"},
		{'+', "git -c user.name=x commit -m y"},
		{'+', "go test -run build ./..."},
	};
	begin("");
	check_rows(rows, ARRAY_LEN(rows));
}

/* Each level has the words of the next. */
TEST(long_chains_of_commands_are_undecided) {
	enum { LONGEST = 160000 }; /* about ARG_MAX */
	static const char *argv[LONGEST + 3];
	static const char *const chains[] = {"xargs", "env", "nice"};

	begin("");
	for (size_t k = 0; k < ARRAY_LEN(chains); k++) {
		for (size_t i = 0; i < LONGEST; i++) {
			argv[i] = chains[k];
		}
		argv[LONGEST] = "git";
		argv[LONGEST + 1] = "push";
		CHECK_INT(judge(argv).kind, JUDGED_UNDECIDED);
	}
	struct rusage used;
	REQUIRE(getrusage(RUSAGE_SELF, &used) == 0);
	CHECK(used.ru_maxrss < 300L * 1024); /* KiB, of the three and a sanitizer */
}

TESTS_MAIN
