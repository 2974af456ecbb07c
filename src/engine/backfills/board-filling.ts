import { loadCompiled } from '../../catalog/compiled-catalog.ts';
import { type BoardFill, deletePastScores, firstOpenRun } from '../../postgres/boards/progress.ts';
import { putPastScores, rankPastScores } from '../../postgres/boards/past-scores.ts';
import type { Progress } from '../../postgres/jobs.ts';
import { countUsers, usersAfter } from '../../postgres/users/selections.ts';
import type { JobWork, RecordSlice } from '../schedule/job-runner.ts';
import { type OnPieceFailed, userPiece } from '../schedule/pieces.ts';
import { sliceOfUsers } from './user-slices.ts';
import { boardHistory, pastRuns } from '../leaderboards/board-history.ts';
import { clearRun } from '../leaderboards/runs.ts';
import { pastScores, createUserScores, type UserScoresOptions } from '../leaderboards/user-scores.ts';

export interface FillOptions extends Omit<UserScoresOptions, 'onLeftOut'> {
  minAgeMs?: number;
  onFailed?: OnPieceFailed;
  /** Called when a board is filled, because work may be due on it now. */
  onFilled?: () => void;
}

/** Every process has a new catalog within a second, and a call with the previous one is retried for 2 s. */
const MIN_AGE_MS = 4_000;
/** Users in a call, between which events come. */
const USERS_A_CALL = 200;

const TITLE = 'filling of leaderboards';

/**
 * Fills boards from history with what users earned, by their local dates, between the board's first day and its activation.
 * Scores are set, not added, so a repeated slice changes nothing. Past runs become readable as final ones at the end.
 */
export function createBoardFilling(options: FillOptions): JobWork<BoardFill> {
  const { onFilled, redis, pool, clock } = options;
  const kinds = ['leaderboard_filling'] as const;
  const title = TITLE;
  /** The last slice ranks all members that the board ever had. */
  const patienceMs = 600_000;
  const minAgeMs: number = options.minAgeMs ?? MIN_AGE_MS;
  const scores = createUserScores({
    ...options,
    onLeftOut: ({ tenantNo, boardNo, userId }, error) =>
      options.onFailed?.({ kind: TITLE, piece: userPiece(tenantNo, userId, { boardNo }), error }),
  });

  function onRecorded({ end }: Progress): void {
    if (end !== undefined) onFilled?.();
  }

  async function slice(job: BoardFill, record: RecordSlice): Promise<void> {
    const { tenantNo, result } = job;
    const { boardNo } = job.parameters;
    const compiled = await loadCompiled(pool, tenantNo);
    const board = compiled?.leaderboardsByNo.get(boardNo);
    if (compiled === null || board === undefined || board.status === 'inactive') {
      await record(async (client) => {
        await deletePastScores(client, tenantNo, [boardNo]);
        return { end: 'done' };
      });
      return;
    }
    const fill = { tenantNo, boardNo, openRunDay: result.openRunDay ?? null };
    const history = boardHistory(compiled, board, clock.now());
    await sliceOfUsers(options, job, record, {
      limit: USERS_A_CALL,
      begin: async (client) => ({
        total: await countUsers(client, tenantNo),
        result: { openRunDay: await firstOpenRun(client, job) },
      }),
      next: async (after) => {
        const users = await usersAfter(pool, tenantNo, after, USERS_A_CALL);
        const { scored, done } = await scores.set({ compiled, board, history, fill }, users);
        return {
          last: users.at(-1)?.id ?? null,
          users: users.length,
          store: async (client, isLast) => {
            await putPastScores(client, fill, pastScores(compiled, board, done));
            if (isLast) {
              const past = pastRuns(board, history, fill.openRunDay);
              await rankPastScores(client, tenantNo, board, past);
              // Left over if the board was active before, and inactive when these runs ended.
              for (const { runDay } of past) await clearRun(redis, { ...fill, runDay }, ['']);
            }
            return { result: { ...result, scored: (result.scored ?? 0) + scored } };
          },
        };
      },
    });
  }

  return { kinds, title, minAgeMs, patienceMs, onRecorded, slice };
}
