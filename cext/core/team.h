/* core/team: threads that copy. They are started when they are first needed and stay, asleep, until
 * the process ends. One job at a time; who finds the team at work does without it, because a job
 * may wait for a stream, and that for whoever came second. */
#ifndef NL_CORE_TEAM_H
#define NL_CORE_TEAM_H

#include "base/lock.h"

#define NL_TEAM_MOST 32

/* A member's share of a job: `member` is 0 for the calling thread, then 1, 2, ... */
typedef void (*nl_team_task)(void *job, int member);

/* Processors that this process may use, at most NL_TEAM_MOST. */
int nl_team_processors(void);
/* Takes the team, for this thread alone, and returns 1; or 0 if somebody has it. */
int nl_team_enter(void);
void nl_team_leave(void);
/* Runs task(job, 0) here and task(job, i) on those of members 1 to members - 1 that wake up before
 * task(job, 0) has returned, which must therefore leave nothing undone that nobody has begun;
 * returns when all who began have returned. `looks`: how often who waits looks before it sleeps.
 * Only between enter and leave. */
void nl_team_run(int members, int looks, nl_team_task task, void *job);

#endif
