/* SPDX-License-Identifier: Apache-2.0 */
/* The simple commands that the shell parser finds.  Each is printed as its words; a word with an
 * expansion ends in "..", one that may split in "...". */
#include "command/shell.h"

#include "base/auto.h"
#include "base/buf.h"
#include "test.h"

static void put_command(struct buf *out, const struct shell_command *c) {
	for (size_t i = 0; i < c->nwords; i++) {
		const struct shell_word *w = &c->words[i];
		buf_printf(out, "%s%s%s", i > 0 ? " " : "", w->text,
			   w->splits    ? "..."
			   : w->dynamic ? ".."
					: "");
	}
	if (c->nwords == 0) {
		buf_puts(out, "=");
	}
}

static void check(const char *text, const char *want) {
	struct arena a;
	struct shell_script script;
	struct shell_fault fault;
	struct buf out;

	arena_init(&a);
	buf_init(&out);
	if (shell_parse(&a, text, &script, &fault)) {
		for (size_t i = 0; i < script.ncommands; i++) {
			buf_puts(&out, i > 0 ? " | " : "");
			put_command(&out, &script.commands[i]);
		}
		buf_puts(&out, script.doubt.why != NULL ? " ?" : "");
	} else {
		buf_puts(&out, "FAULT");
		CHECK(fault.why != NULL && fault.at <= strlen(text));
	}
	if (strcmp(out.data == NULL ? "" : out.data, want) != 0) {
		printf("# %s\n", text);
	}
	CHECK_STR(out.data == NULL ? "" : out.data, want);
	buf_done(&out);
	arena_done(&a);
}

struct row {
	const char *text, *want;
};

static void check_rows(const struct row *rows, size_t n) {
	for (size_t i = 0; i < n; i++) {
		check(rows[i].text, rows[i].want);
	}
}

TEST(lists_and_pipelines) {
	static const struct row rows[] = {
		{"", ""},
		{"a", "a"},
		{"a b  c", "a b c"},
		{"a;b", "a | b"},
		{"a; b;", "a | b"},
		{"a & b", "a | b"},
		{"a && b || c", "a | b | c"},
		{"a |\n b", "a | b"},
		{"a |& b", "a | b"},
		{"! a", "a"},
		{"time -p a", "a"},
		{"a\nb\n\nc", "a | b | c"},
		{"a # b; c", "a"},
		{"a#b", "a#b"},
		{"# a\nb", "b"},
		{"a \\\n b", "a b"},
		{"x=1", "="},
		{"x=1 y=$z a", "a"},
		{"a x=1", "a x=1"},
		{"a;;b", "FAULT"},
		{"a &&", "FAULT"},
		{"| a", "FAULT"},
		{"a | | b", "FAULT"},
		{"a )", "FAULT"},
		{"a | fi", "FAULT"},
		{"a && done", "FAULT"},
		{"}", "FAULT"},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(quotes) {
	static const struct row rows[] = {
		{"'a b' c", "a b c"},
		{"\"a b\"", "a b"},
		{"a'b'\"c\"", "abc"},
		{"g\\it", "git"},
		{"g''it pu\"\"sh", "git push"},
		{"'g'i\"t\"", "git"},
		{"\"a\\\"b\\$c\"", "a\"b$c"},
		{"\"a\\nb\"", "a\\nb"},
		{"'a", "FAULT"},
		{"\"a", "FAULT"},
		{"$'a\\'b'", ".. ?"},
		{"$\"a\"", "a"},
		{"a '' \"\"", "a  "},
		{"'a\nb'", "a\nb"},
		{"\"a\\\nb\"", "ab"},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(expansions) {
	static const struct row rows[] = {
		{"$a", "..."},
		{"\"$a\"", ".."},
		{"\"$@\"", "..."},
		{"a$b", "a..."},
		{"\"a$b\"", "a.."},
		{"a ${b:-c d}", "a ..."},
		{"\"${a[@]}\"", "..."},
		{"a $1 $? $#", "a ... ... ..."},
		{"a $", "a $"},
		{"a *", "a .."},
		{"a src/*.c", "a src/.."},
		{"a [b]", "a .."},
		{"[ a ]", "[ a ]"},
		{"a {b,c}", "a ..."},
		{"a x{1..3}", "a x..."},
		{"a {b}", "a {b}"},
		{"a ~/b", "a ~/b"},
		{"a $((1 + 2))", "a ..."},
		{"a $(( $(b) ))", "b | a ..."},
		{"${a", "FAULT"},
		{"a $'x' b", "a .. b"},
		{"--f$x", "--f..."},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(substitutions) {
	static const struct row rows[] = {
		{"a $(b c)", "b c | a ..."},
		{"a \"$(b)\"", "b | a .."},
		{"a `b c`", "b c | a ..."},
		{"a `b \\`c\\``", "c | b ... | a ..."},
		{"$(a $(b))", "b | a ... | ..."},
		{"\"${x:-$(rm y)}\"", "rm y | .."},
		{"${x:-`rm y`}", "rm y | ..."},
		{"a <(b) >(c)", "b | c | a .. .."},
		{"a < <(b)", "b | a"},
		{"x=$(a)", "a | ="},
		{"x=$(a) b", "a | b"},
		{"$( (a) )", "a | ..."},
		{"$((a) )", "a | ..."},
		{"a $(b; c | d)", "b | c | d | a ..."},
		{"a $(b", "FAULT"},
		{"a `b", "FAULT"},
		{"a $(b))", "FAULT"},
		{"a \"$(b \"$(c)\")\"", "c | b .. | a .."},
		{"a $(# x\nb)", "b | a ..."},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(redirections_and_here_documents) {
	static const struct row rows[] = {
		{"a >b", "a"},
		{"a >b c", "a c"},
		{">b a", "a"},
		{"a 2>&1 >&2 c", "a c"},
		{"a 2 >b", "a 2"},
		{"a &>b", "a"},
		{"a <<<b c", "a c"},
		{"a <<E\nrm x\nE\nb", "a | b"},
		{"a <<E; b\n$(c)\nE\nd", "a | b | c | d"},
		{"a <<'E'\n$(c)\nE\nd", "a | d"},
		{"a <<\\E\n`c`\nE\nd", "a | d"},
		{"a <<-E\n\tx\n\tE\nb", "a | b"},
		{"a <<E <<F\n$(x)\nE\n`y`\nF\nb", "a | x | y | b"},
		{"a <<E | b\nx\nE\nc", "a | b | c"},
		{"a $(b <<E\nx\nE\n)", "b | a ..."},
		{"a >$(b)", "b | a"},
		{"a >", "FAULT"},
		{"a <<", "FAULT"},
		{"a <<E\n$(c", "FAULT"},
		{"a <<E\nx", "a ?"},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(compound_commands) {
	static const struct row rows[] = {
		{"(a; b) | c", "a | b | c"},
		{"{ a; b; } >c", "a | b"},
		{"{ a }", "FAULT"},
		{"()", "FAULT"},
		{"if a; then b; elif c; then d; else e; fi", "a | b | c | d | e"},
		{"if a; then fi", "FAULT"},
		{"while a; do b; done <c", "a | b"},
		{"until a\ndo b\ndone", "a | b"},
		{"for i in $(a) b; do c $i; done", "a | c ..."},
		{"for i do a; done", "a"},
		{"for i; do a; done", "a"},
		{"for ((i=0;i<$(a);i++)); do b; done", "a | b"},
		{"case $(a) in b|c) d;; (*) e;& f) g;;& esac", "a | d | e | g"},
		{"case a in esac", ""},
		{"case a in b) c", "FAULT"},
		{"f() { a; }; f", "a | f"},
		{"f() (a)", "a"},
		{"function f { a; }", "a"},
		{"function f() { a; }", "a"},
		{"f() a", "FAULT"},
		{"select i in a; do b; done", "b"},
		{"a=(b $(c)) d", "c | d"},
		{"declare -a x=(1 $(y))", "y | declare -a x=.."},
		{"if (a); then { b; }; fi", "a | b"},
		{"echo if then fi", "echo if then fi"},
		{"a && { b || c; } & d", "a | b | c | d"},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

/* Text that bash reads as one construct and dash as commands: both count. */
TEST(text_that_dash_reads_otherwise) {
	static const struct row rows[] = {
		{"[[ a && rm b ]]", "[[ a | rm b ]]"}, {"[[ -f $(a) ]]", "a | a | [[ -f ... ]]"},
		{"[[ $x =~ ^(a|b)$ ]]", ""},           {"((rm x))", "rm x"},
		{"((i = $(a)))", "a | a | i = ..."},   {"[[ a", "FAULT"},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

/* Text that shells read in different ways, or evaluate later, ends in " ?". */
static const struct row two_readings[] = {
	{": \"${x#'\"'}\"; a; : \"b\" #}\"", ": .. ?"},
	{"a \"${x%'}'}\"", "a .. ?"},
	{"a \"${x:-it's}\"", "a .. ?"},
	{"a \"${x:-\"}\"}\"", "a .. ?"},
	{"a \"${x#'b'}\" \"${x:-\"c\"}\"", "a .. .."},
	{"x=${y#'a'}", "="},
	{"a ${x#'}'}", "a ..."},
	{": $'\\'; a #'", ": .. ?"},
	{": $'\\n' $'\\\\'", ": .. .."},
	{"\"$\\\n(a)\"", "$(a) ?"},
	{"a $\\\n{b}", "a ${b} ?"},
	{"$\\\nf", "$f ?"},
	{"a <<E\n$\\\n(b)\nE\n", "a ?"},
	{"a $(\\\n(b))", "b | a ... ?"},
	{"a $(\\\n b)", "b | a ..."},
	{"a &\\\n& b", "FAULT"},
	{"a;\\\nb", "a | b"},
	{"a &&\\\nb |\\\n c", "a | b | c"},
	{"a\\\nb c", "ab c ?"},
	{"a <\\\n<E\nb\nE", "a | b | E ?"},
	{"a 2\\\n>b", "a 2 ?"},
	{": \"`a \\\"b\\\"`\"", "a b | : .."},
	{": `a \\\"b\\\"`", "a \"b\" | : ..."},
	{"a <<E\n`b \\\"c\\\"`\nE\n", "a | b c ?"},
	{"a <<\"E\\F\"\nE\\F\nb", "a ?"},
	{"a <<E\\\nOF\nEOF\nb", "a ?"},
	{"a <<$'EOF'\n$EOF\nb", "a | b ?"},
	{"a <<'E\nF'\nE\nF\nb", "a ?"},
	{"a <<EOF\nEO\\\nF\nb\nEOF\n", "a ?"},
	{"a <<E\nx \\\nE\nb\nE\n", "a | b | E ?"},
	{"a <<E\nx \\\n y\nE\nb", "a | b"},
	{"a <<'E'\nx \\\nE\nb", "a | b"},
	{"echo $(cat <<E)\na\nE\n", "cat | echo ... ?"},
	{"echo `cat <<E`\na\n", "cat | echo ... | a ?"},
	{"a <<E $(b\nc)\nE\n", "FAULT"},
	{"a <<E", "a ?"},
	{"a -m \"$(cat <<'E'\nb $(c) `d`\nE\n)\"", "cat | a -m .."},
	{"((1+'));x='))\na # '", "= ?"},
	{": $((1+'));x='))\na # ')", "FAULT"},
	{"a $(( \"$x\" + 1 ))", "a ..."},
	{"a $(( \")\" ))", "a ... ?"},
	{"((i++))", "i++"},
	{"time -- a", "a"},
	{"time -p -- a", "a"},
	{"time -o x a", "time -o x a"},
	{"{fd}>x a", "a ?"},
	{"a {b}", "a {b}"},
	{"coproc a b", "a b ?"},
	{"coproc N { a; }", "FAULT"},
	{"a ${ b; }", "a ... ?"},
	{"a ${x@P} \"${x@Q}\"", "a ... ... ?"},
	{"let 'a[$(b)]'", "let a[$(b)] ?"},
	{"printf -v 'a[$(b)]' c", "printf -v a[$(b)] c ?"},
	{"printf '%s' '$(b)'", "printf %s $(b)"},
	{"test -v 'a[`b`]'", "test -v a[`b`] ?"},
	{"[ -v 'a[$(b)]' ]", "[ -v a[$(b)] ] ?"},
	{"declare -i x='a[$(b)]'", "declare -i x=a[$(b)] ?"},
	{"declare x=1; export y=2", "declare x=1 | export y=2"},
	{"x='a[$(b)]'; ((x))", "= | x ?"},
	{"x='a[$'; y='(b)]'; z=$x$y; ((z))", "= | = | = | z ?"},
	{"x='a[$(b)]'; echo ${y[x]}", "= | echo ... ?"},
	{"read x <<<'a[$(b)]'", "read x ?"},
	{"x='a[$(b)]'; echo ${y:x}", "= | echo ... ?"},
	{"x=$(cat <<'E'\na[$(b)]\nE\n); ((x))", "cat | = | x ?"},
	{"x=$(cat <<E\na[\\$(b)]\nE\n); ((x))", "cat | = | x ?"},
	{"x=$'a[\\x24(b)]'; ((x))", "= | x ?"},
	{"x=$'\\n'; ((x))", "= | x"},
	{"a -m 'b `c`' ${x:-d} ${x:+e}", "a -m b `c` ... ..."},
	{"x='$(b)'; echo \"$x\"", "= | echo .."},
	{"for f in *.c; do gcc -c \"$f\"; done", "gcc -c .."},
};

TEST(text_with_two_readings) {
	check_rows(two_readings, ARRAY_LEN(two_readings));
}

/* Attempts at arithmetic read the same words again. */
TEST(words_are_bounded) {
	static char text[SHELL_TEXT_MAX];
	struct arena a;
	struct shell_script script;
	struct shell_fault fault;
	size_t n = 0;

	for (size_t i = 0; i < 200; i++) {
		memcpy(text + n, "$((", 3);
		n += 3;
	}
	memcpy(text + n, "$(a", 3);
	for (n += 3; n + 3 < sizeof text; n += 2) {
		memcpy(text + n, " a", 2);
	}
	text[n] = ')';
	text[n + 1] = '\0';
	arena_init(&a);
	CHECK(!shell_parse(&a, text, &script, &fault));
	CHECK_STR(fault.why, "too many words");
	arena_done(&a);
}

TEST(hostile_text_ends_soon) {
	static char deep[SHELL_TEXT_MAX];
	struct arena a;
	struct shell_script script;
	struct shell_fault fault;
	static const char *const units[] = {"$((",   "$(",  "(",    "{ ", "${x:-",
					    "[[ $(", "if ", "\"$(", "${", "\"${"};

	for (size_t u = 0; u < ARRAY_LEN(units); u++) {
		size_t n = 0, len = strlen(units[u]);
		while (n + len < sizeof deep - 1) {
			memcpy(deep + n, units[u], len);
			n += len;
		}
		deep[n] = '\0';
		arena_init(&a);
		CHECK(!shell_parse(&a, deep, &script, &fault));
		arena_done(&a);
	}
}

TESTS_MAIN
