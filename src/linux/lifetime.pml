/* Who watches and kills whom in a run without a pid namespace (linux/warden.h).
 *
 * The model has the supervisor, the two wardens, the guard, the command and the rest of
 * what the command started.  An adversary has FAULTS faults: it kills one of Corral's four
 * processes, or blocks the guard in a file operation for ever, at any moment.  Spin tries
 * every order.  When nothing can happen any more, nothing of the run is alive, its directory is
 * gone, and a supervisor that was not killed has told a reason that is true.
 *
 * Each edge has a name; -D WITHOUT_<name> takes it out.  tests/lifetime/model.py demands
 * that the model holds as it is, and fails without each set of edges that it lists.
 *
 * Two ways to kill are checked: one kill(-1) in a Landlock domain (-D SCOPED, ABI 6), and
 * child by child.
 *
 * Left out: time.  A wait with a bound in the code is a wait for its event here, and the
 * deadline is an event that may happen at any moment. */

#ifndef FAULTS
#define FAULTS 2
#endif

#define S 0 /* supervisor */
#define O 1 /* outer warden */
#define I 2 /* inner warden */
#define G 3 /* guard */
#define C 4 /* the command's first process */
#define R 5 /* the rest of its processes: orphans, in other sessions */

mtype = {NONE, EXIT, LOST, TIMEOUT, CANCELLED, SETUP};

bool alive[6];
bool made[6];
bool murdered[4];
bool blocked;   /* the guard, in the kernel */
bool shut;      /* the supervisor's half of the channel, by shutdown(2) or by its death */
bool directory;
bool late;      /* the deadline has passed */
bool asked;     /* the guard, by the inner warden, to end the run */
bool cancelled; /* three signals, or corral_process_free() */
byte faults = FAULTS;

/* struct run_state, and the report in the channel */
bool begun, ended, finished, timed_out, reported;

/* What happened, for the judgement only */
bool ran, clock_killed;
mtype told = NONE;

#define GONE(p) (made[p] && !alive[p])

#ifdef WITHOUT_guard_sees_inner
#define GUARD_SEES_INNER false
#else
#define GUARD_SEES_INNER GONE(I)
#endif
#ifdef WITHOUT_guard_sees_channel
#define GUARD_SEES_CHANNEL false
#else
#define GUARD_SEES_CHANNEL shut
#endif
#ifdef WITHOUT_guard_clock
#define GUARD_CLOCK false
#else
#define GUARD_CLOCK late
#endif
#ifdef WITHOUT_inner_sees_guard
#define INNER_SEES_GUARD false
#else
#define INNER_SEES_GUARD GONE(G)
#endif
#ifdef WITHOUT_inner_sees_outer
#define INNER_SEES_OUTER false
#else
#define INNER_SEES_OUTER GONE(O)
#endif
#ifdef WITHOUT_inner_sees_channel
#define INNER_SEES_CHANNEL false
#else
#define INNER_SEES_CHANNEL shut
#endif
#ifdef WITHOUT_inner_clock
#define INNER_CLOCK false
#else
#define INNER_CLOCK late
#endif
#ifdef WITHOUT_outer_sees_inner
#define OUTER_SEES_INNER false
#else
#define OUTER_SEES_INNER GONE(I)
#endif
#ifdef WITHOUT_supervisor_sees_outer
#define SUPERVISOR_SEES_OUTER false
#else
#define SUPERVISOR_SEES_OUTER GONE(O)
#endif

/* A process makes a step only while it is alive. */
#define STEP(p, condition) atomic { alive[p] && (condition) ->
#define END }

inline die(p) {
	alive[p] = false;
	if
	:: p == S -> shut = true
	:: else
	fi
}

active proctype supervisor() {
	alive[S] = true;
	made[S] = true;
	do
	:: STEP(S, !made[O]) made[O] = true; alive[O] = true END
	:: STEP(S, made[O] && told == NONE && !shut && reported) shut = true END
	:: STEP(S, made[O] && told == NONE && !shut && SUPERVISOR_SEES_OUTER) shut = true END
	:: STEP(S, made[O] && told == NONE && !shut && cancelled) shut = true END
	/* end_wardens(): the outer warden's end, then that of everybody who has the channel. */
	:: STEP(S, shut && told == NONE && GONE(O) && !alive[I] && !alive[G])
		directory = false;
		if
#ifdef WITHOUT_run_state
		:: reported -> told = (timed_out -> TIMEOUT : EXIT)
		:: !reported && cancelled -> told = CANCELLED
		:: !reported && !cancelled -> told = SETUP
#else
		:: timed_out -> told = TIMEOUT
		:: !timed_out && ended -> told = EXIT
		:: !timed_out && !ended && !begun -> told = SETUP
		:: !timed_out && !ended && begun && cancelled -> told = CANCELLED
		:: !timed_out && !ended && begun && !cancelled -> told = LOST
#endif
		fi;
		die(S) END
	:: !alive[S] -> break
	od
}

active proctype outer() {
	do
	:: STEP(O, !made[I]) made[I] = true; alive[I] = true END
#ifdef SCOPED
	/* Likewise one kill(-1), of the domain around everything. */
	:: STEP(O, OUTER_SEES_INNER && (!finished || blocked) && (alive[G] || alive[C] || alive[R]))
		die(G); die(C); die(R) END
#else
	/* Its children, one after the other: who loses its parent becomes the outer warden's.
	 * A guard that is not blocked has ended by then: it has seen the same death. */
	:: STEP(O, OUTER_SEES_INNER && blocked && alive[G]) die(G) END
	:: STEP(O, OUTER_SEES_INNER && !finished && !alive[G] && alive[C]) die(C) END
	:: STEP(O, OUTER_SEES_INNER && !finished && !alive[G] && alive[R]) die(R) END
#endif
	:: STEP(O, OUTER_SEES_INNER && !alive[G] && (finished || (!alive[C] && !alive[R])))
#ifndef WITHOUT_outer_removes
		directory = false;
#endif
		die(O) END
	:: GONE(O) -> break
	:: GONE(S) && !made[O] -> break
	od
}

#define INNER_CAUSE (INNER_SEES_GUARD || INNER_SEES_OUTER || INNER_SEES_CHANNEL || INNER_CLOCK)

#define INNER_ENDS                                                                                 \
	(made[G] && INNER_CAUSE && (!finished || blocked) && (clock_seen || !INNER_CLOCK || ended))

active proctype inner() {
	bool clock_seen = false, set_up = false;
	do
	:: STEP(I, !set_up) directory = true; set_up = true END
	:: STEP(I, set_up && !made[G]) made[G] = true; alive[G] = true END
	:: STEP(I, made[G] && INNER_CLOCK && !clock_seen && !ended)
		clock_seen = true;
		timed_out = true;
		clock_killed = true END
#ifdef SCOPED
	/* One kill(-1) ends everything in the Landlock domain. */
	:: STEP(I, INNER_ENDS && (alive[G] || alive[C] || alive[R])) die(G); die(C); die(R) END
#else
	/* The guard first, because nobody below it would be left to see the warden die.  So
	 * it is asked to end the run, and killed when it does not answer. */
	:: STEP(I, INNER_ENDS && alive[G] && !asked) asked = true END
	:: STEP(I, INNER_ENDS && alive[G] && blocked) die(G) END
	:: STEP(I, INNER_ENDS && !alive[G] && alive[C]) die(C) END
	:: STEP(I, INNER_ENDS && !alive[G] && alive[R]) die(R) END
#endif
	:: STEP(I, made[G] && INNER_CAUSE && !alive[G] && (finished || (!alive[C] && !alive[R])))
#ifndef WITHOUT_inner_removes
		directory = false;
#endif
		die(I) END
	:: GONE(I) -> break
	:: GONE(O) && !made[I] -> break
	od
}

#define ACTS (!blocked)

#define GUARD_ABANDONS (GUARD_SEES_INNER || GUARD_SEES_CHANNEL || asked)

active proctype guard() {
	bool clock_seen = false;
	do
	:: STEP(G, ACTS && !made[C] && !begun) begun = true END
	:: STEP(G, ACTS && begun && !made[C]) made[C] = true; alive[C] = true; ran = true END
	:: STEP(G, ACTS && made[C] && GUARD_CLOCK && alive[C] && !clock_seen)
		clock_seen = true;
		timed_out = true;
		clock_killed = true;
		die(C) END
	/* The command has ended: what it left goes before its end is told. */
	:: STEP(G, ACTS && GONE(C) && !ended) ended = true END
	:: STEP(G, ACTS && ended && !finished && alive[R]) die(R) END
	:: STEP(G, ACTS && ended && !finished && !alive[R]) finished = true END
	:: STEP(G, ACTS && finished && !reported) reported = true END
	:: STEP(G, ACTS && reported) die(G) END
	/* kill_all_and_exit() */
	:: STEP(G, ACTS && !ended && GUARD_ABANDONS && alive[C]) die(C); die(R) END
	:: STEP(G, ACTS && !ended && GUARD_ABANDONS && !alive[C] && alive[R]) die(R) END
	:: STEP(G, ACTS && !ended && GUARD_ABANDONS && !alive[C] && !alive[R]) die(G) END
	:: GONE(G) -> break
	:: GONE(I) && !made[G] -> break
	od
}

active proctype command() {
	bool ends = false;
	if
	:: ends = true
	:: skip
	fi;
	do
	:: STEP(C, !made[R]) made[R] = true; alive[R] = true END
	:: STEP(C, ends) die(C) END
	:: GONE(C) || (GONE(G) && !made[C]) -> break
	:: GONE(I) && !made[G] -> break
	:: GONE(O) && !made[I] -> break
	:: GONE(S) && !made[O] -> break
	od
}

#define MURDER(p)                                                                                  \
	atomic {                                                                                   \
		faults > 0 && alive[p]->faults--;                                                  \
		murdered[p] = true;                                                                \
		die(p)                                                                             \
	}

active proctype adversary() {
	do
	:: MURDER(S)
	:: MURDER(O)
	:: MURDER(I)
	:: MURDER(G)
	:: atomic { faults > 0 && alive[G] && !blocked -> faults--; blocked = true }
	:: atomic { made[O] && !late -> late = true }
	:: atomic { alive[S] && made[O] && !cancelled -> cancelled = true }
	:: break
	od
}

#define TRUE_REASON                                                                                \
	((told == EXIT && ran) || (told == SETUP && !ran) || (told == TIMEOUT && clock_killed) ||  \
	 (told == CANCELLED && cancelled) ||                                                       \
	 (told == LOST && (murdered[O] || murdered[I] || murdered[G])))

/* Without a death, a deadline and an order to end, a run whose guard is blocked goes on. */
#define MURDERED (murdered[S] || murdered[O] || murdered[I] || murdered[G])
#define GOES_ON (!MURDERED && !late && !cancelled)

active proctype judge() {
	timeout;
	assert(GOES_ON || (!alive[C] && !alive[R]));
	assert(GOES_ON || (!alive[O] && !alive[I] && !alive[G]));
	assert(GOES_ON || !directory);
	assert(GOES_ON || murdered[S] || TRUE_REASON)
}
