/* An output directory has one run at a time, and keeps what an earlier run left unless told otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "support_training.h"
#include "train/run_lock.h"

/* In the place of the C library's: what happens between opening the file and locking it. */
static void (*before_locking)(void);

int flock(int file, int operation)
{
    void (*happens)(void) = before_locking;
    before_locking = NULL;
    if (happens != NULL) {
        happens();
    }
    return (int)syscall(SYS_flock, file, operation);
}

/* ---- the lock ---------------------------------------------------------------------------------------------------- */

static void assert_in_use(long process)
{
    run_lock lock;
    nmt_error error = {0};
    char expected[700];
    assert_int_equal(run_lock_take(&lock, support_directory, &error), NMT_INVALID);
    snprintf(expected, sizeof expected, "%s: in use by another run, process %ld on \"", support_directory, process);
    assert_contains(error.message, expected);
    run_lock_release(&lock); /* of what was not taken: nothing */
}

static void take(run_lock *lock)
{
    nmt_error error = {0};
    if (run_lock_take(lock, support_directory, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
}

static void a_second_run_of_this_process_is_refused(void **state)
{
    (void)state;
    run_lock lock;
    take(&lock);
    assert_in_use((long)getpid());
    assert_in_use((long)getpid()); /* the first refusal has not loosened it */
    run_lock_release(&lock);
    assert_int_equal(access(support_path("run.lock"), F_OK), -1);
    take(&lock);
    assert_int_equal(lock.dead, 0);
    run_lock_release(&lock);
    run_lock_release(&lock);
}

/* A process that holds the lock until it is killed. */
static pid_t start_holder(void)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t holder = fork();
    if (holder == 0) {
        run_lock lock;
        if (run_lock_take(&lock, support_directory, NULL) == NMT_OK && write(ready[1], "", 1) == 1) {
            pause();
        }
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return holder;
}

static void the_lock_of_a_dead_process_is_taken_over(void **state)
{
    (void)state;
    char mine[64], other[64];
    const pid_t holder = start_holder();
    snprintf(mine, sizeof mine, ".nmt-%ld-1-0", (long)holder);
    snprintf(other, sizeof other, ".nmt-%ld0-1-0", (long)holder);
    support_write(mine, "half a mod");
    support_write(other, "another's");
    assert_in_use((long)holder);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    assert_int_equal(access(support_path("run.lock"), F_OK), 0);
    run_lock lock;
    take(&lock);
    assert_int_equal(lock.dead, holder);
    assert_int_equal(lock.removed, 1);
    assert_int_equal(access(support_path(mine), F_OK), -1);
    assert_int_equal(access(support_path(other), F_OK), 0);
    assert_in_use((long)getpid());
    run_lock_release(&lock);
    unlink(support_path(other));
}

/* Whatever stands in the file, it is the lock that counts. */
static void what_the_file_says_is_not_believed(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "1 x", "0 x\n", "-5 x\n", "99999999999999999999 x\n", "\x1b[2J", "7\n"};
    run_lock lock;
    nmt_error error;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        support_write("run.lock", texts[i]);
        take(&lock);
        assert_int_equal(lock.dead, 0); /* not of this machine, or of no process */
        run_lock_release(&lock);
    }
    take(&lock);
    support_write("run.lock", "12 a\x1b[2Jb\n"); /* the same file, written by somebody else */
    assert_int_equal(run_lock_take(&(run_lock){0}, support_directory, &error), NMT_INVALID);
    assert_contains(error.message, "process 12 on \"a\\x1B[2Jb\"");
    support_write("run.lock", "");
    assert_int_equal(run_lock_take(&(run_lock){0}, support_directory, &error), NMT_INVALID);
    assert_contains(error.message, ": in use by another run");
    run_lock_release(&lock);
}

static void a_lock_that_cannot_be_made_is_named(void **state)
{
    (void)state;
    nmt_error error = {0};
    run_lock lock;
    assert_int_equal(mkdir(support_path("run.lock"), 0777), 0);
    assert_int_equal(run_lock_take(&lock, support_directory, &error), NMT_IO);
    assert_contains(error.message, support_path("run.lock"));
    assert_int_equal(rmdir(support_path("run.lock")), 0);
    support_write("victim", "kept");
    assert_int_equal(symlink("victim", support_path("run.lock")), 0);
    assert_int_equal(run_lock_take(&lock, support_directory, &error), NMT_IO);
    unlink(support_path("run.lock"));
    file_bytes victim = read_bytes(support_path("victim"));
    assert_string_equal(victim.bytes, "kept");
    free(victim.bytes);
    unlink(support_path("victim"));
}

static int rival;

static void the_holder_leaves(void)
{
    assert_int_equal(unlink(support_path("run.lock")), 0);
}

static void a_rival_is_faster(void)
{
    the_holder_leaves();
    support_write("run.lock", "77 here\n");
    rival = open(support_path("run.lock"), O_RDWR);
    assert_int_equal(flock(rival, LOCK_EX | LOCK_NB), 0);
}

/* The file that was opened has no name any more: locking it keeps nobody away. */
static void a_file_that_was_removed_meanwhile_is_no_lock(void **state)
{
    (void)state;
    run_lock lock;
    before_locking = the_holder_leaves;
    take(&lock);
    assert_in_use((long)getpid());
    run_lock_release(&lock);
    before_locking = a_rival_is_faster;
    assert_in_use(77);
    assert_int_equal(access(support_path("run.lock"), F_OK), 0);
    close(rival);
    unlink(support_path("run.lock"));
}

/* Takers and leavers in a tight race: the file is removed while others are opening it. */
static void never_two_hold_it(void **state)
{
    (void)state;
    enum { PROCESSES = 4, ROUNDS = 150 };
    struct {
        atomic_int holders, taken, broken;
    } *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    for (int i = 0; i < PROCESSES; i++) {
        if (fork() == 0) {
            for (int round = 0; round < ROUNDS; round++) {
                run_lock lock;
                while (run_lock_take(&lock, support_directory, NULL) != NMT_OK) {
                    sched_yield();
                }
                shared->broken += shared->holders++ != 0;
                shared->taken++;
                shared->holders--;
                run_lock_release(&lock);
            }
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
    assert_int_equal(shared->broken, 0);
    assert_int_equal(shared->taken, PROCESSES * ROUNDS);
    munmap(shared, sizeof *shared);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static nmt_status train_with(const nmt_train_options *options, const nmt_train_observer *observer, nmt_error *error)
{
    nmt_config *config;
    assert_int_equal(nmt_config_load(&config, support_path("config.json"), NULL, 0, error), NMT_OK);
    const nmt_status status = nmt_train(config, options, observer, error);
    nmt_config_free(config);
    return status;
}

static bool start_another(void *context)
{
    training_run *run = context;
    if (run->updates++ == 2) {
        char expected[64];
        static const nmt_train_options ways[] = {{0}, {.resume = true}, {.overwrite = true}};
        snprintf(expected, sizeof expected, "process %ld on ", (long)getpid());
        for (size_t i = 0; i < 3; i++) {
            nmt_error error;
            assert_int_equal(train_with(&ways[i], NULL, &error), NMT_INVALID);
            assert_contains(error.message, expected);
            assert_contains(error.message, support_path("run"));
        }
    }
    return false;
}

static void two_runs_do_not_share_a_directory(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS(NULL));
    end_run(&run);
    file_bytes model = read_bytes(run_path("model.safetensors"));
    remove_run();
    const nmt_train_observer observer = {.context = &run, .should_stop = start_another};
    assert_int_equal(train_with(NULL, &observer, &run.error), NMT_OK);
    file_bytes undisturbed = read_bytes(run_path("model.safetensors"));
    assert_true(same_bytes(model, undisturbed));
    assert_int_equal(access(run_path("run.lock"), F_OK), -1);
    free(model.bytes);
    free(undisturbed.bytes);
}

static void assert_kept(const char *name)
{
    nmt_error error;
    file_bytes before = read_bytes(run_path(name)), log = read_bytes(run_path("log.jsonl"));
    assert_int_equal(train_with(NULL, NULL, &error), NMT_INVALID);
    assert_contains(error.message, run_path(name));
    assert_contains(error.message, "overwrite");
    assert_int_equal(train_with(&(nmt_train_options){0}, NULL, &error), NMT_INVALID);
    file_bytes after = read_bytes(run_path(name)), log_after = read_bytes(run_path("log.jsonl"));
    assert_true(same_bytes(before, after));
    assert_true(same_bytes(log, log_after));
    free(before.bytes);
    free(after.bytes);
    free(log.bytes);
    free(log_after.bytes);
    assert_int_equal(access(run_path("run.lock"), F_OK), -1);
}

static void a_run_is_not_overwritten_unasked(void **state)
{
    (void)state;
    training_run run;
    nmt_error error;
    train_anew(&run, SETTINGS(NULL));
    end_run(&run);
    assert_kept("model.safetensors");
    assert_int_equal(unlink(run_path("model.safetensors")), 0);
    assert_kept("last.state");
    assert_int_equal(train_with(&(nmt_train_options){.overwrite = true}, NULL, &error), NMT_OK);
    assert_int_equal(unlink(run_path("last.state")), 0);
    assert_kept("model.safetensors");
    assert_int_equal(train_with(&(nmt_train_options){true, true}, NULL, &error), NMT_INVALID);
    assert_contains(error.message, "not both");
}

/* Until it has a model of its own, a run that overwrites leaves the old one, and no state that belongs to that. */
static bool check_remains(void *context)
{
    training_run *run = context;
    if (run->updates++ == 1) { /* behind the first update */
        file_bytes model = read_bytes(run_path("model.safetensors"));
        assert_true(same_bytes(model, run->model));
        assert_int_equal(access(run_path("last.state"), F_OK), -1);
        free(model.bytes);
    }
    return false;
}

static void a_run_that_overwrites_leaves_no_old_state(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.seed=5"));
    end_run(&run);
    run.model = read_bytes(run_path("model.safetensors"));
    const nmt_train_observer observer = {.context = &run, .should_stop = check_remains};
    assert_int_equal(train_with(&(nmt_train_options){.overwrite = true}, &observer, &run.error), NMT_OK);
    file_bytes model = read_bytes(run_path("model.safetensors"));
    assert_false(same_bytes(model, run.model));
    free(model.bytes);
    end_run(&run);
}

/* A run that was killed may have written events behind its last state, the last of them in part. */
static void a_resumed_run_cuts_its_log(void **state)
{
    (void)state;
    static const char *const tails[] = {"{\"update\": 9, \"train_loss\": 1}\n", "{\"update\": 4, \"tr", "\xff\n{}\n",
                                        "{\"update\": 9}\n{\"update\": 4}\n"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        training_run run;
        train_anew(&run, SETTINGS("training.epochs=1"));
        end_run(&run);
        FILE *log = fopen(run_path("log.jsonl"), "a");
        fputs(tails[i], log);
        fclose(log);
        train(&run, true, SETTINGS(NULL));
        assert_trained(&run);
        end_run(&run);
        assert_int_equal(count_events(), 3);
        for (size_t event = 0; event < 3; event++) {
            assert_true(event_number(event, "update") == 4.0 * (double)(event + 1));
        }
    }
}

static void a_lost_log_does_not_keep_a_run_from_going_on(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.epochs=1"));
    end_run(&run);
    assert_int_equal(unlink(run_path("log.jsonl")), 0);
    train(&run, true, SETTINGS(NULL));
    assert_trained(&run);
    end_run(&run);
    assert_int_equal(count_events(), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_run_of_this_process_is_refused),
        cmocka_unit_test(the_lock_of_a_dead_process_is_taken_over),
        cmocka_unit_test(what_the_file_says_is_not_believed),
        cmocka_unit_test(a_lock_that_cannot_be_made_is_named),
        cmocka_unit_test(a_file_that_was_removed_meanwhile_is_no_lock),
        cmocka_unit_test(never_two_hold_it),
        cmocka_unit_test_teardown(two_runs_do_not_share_a_directory, remove_run_after),
        cmocka_unit_test_teardown(a_run_is_not_overwritten_unasked, remove_run_after),
        cmocka_unit_test_teardown(a_run_that_overwrites_leaves_no_old_state, remove_run_after),
        cmocka_unit_test_teardown(a_resumed_run_cuts_its_log, remove_run_after),
        cmocka_unit_test_teardown(a_lost_log_does_not_keep_a_run_from_going_on, remove_run_after),
    };
    return cmocka_run_group_tests(tests, training_setup, support_teardown);
}
