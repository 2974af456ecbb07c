import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import {
  addMembers,
  beginRun,
  dropMembers,
  finishRun,
  lastCopied,
  lockGroup,
} from '../../postgres/boards/final-runs.ts';
import { lockProgress, moveProgress } from '../../postgres/boards/progress.ts';
import { isUniqueViolation, transaction } from '../../postgres/transaction.ts';
import { beforeNaming } from '../../postgres/users/stored-states.ts';
import { boardKey, shardOf } from '../../redis/keys.ts';
import { whileWhole } from '../persisted/while-whole.ts';
import { groupsOfRun } from './groups-of-run.ts';
import type { Over } from './over-run.ts';
import { ranked } from './ranked.ts';
import { LiveStandings } from './standings.ts';

/** How far the copying of a run has come. */
export type CopyStep = 'begun' | 'written' | 'copied' | 'finished';

export interface CopyRunOptions {
  redis: Redis;
  pool: Pool;
  /** Called after each step: for tests, which stop the world there. */
  onStep?: (step: CopyStep) => void | Promise<void>;
}

/** A group of a run that is begun in Postgres. */
interface Copying extends Over {
  runId: number;
  group: string;
}

/** Members a transaction: Redis gives them in about 2 ms. */
const CHUNK = 5_000;

/**
 * Copies the standings of an ended run from Redis into Postgres and declares it final: chunk by chunk, each in a
 * transaction that notes how far it came, so that whatever crashes nobody is copied twice or left out.
 * False: we are to end before that.
 */
export async function copyRun(options: CopyRunOptions, over: Over, ending: AbortSignal): Promise<boolean> {
  const { redis, pool, onStep } = options;
  const { board, run, nextRunDay } = over;
  const { tenantNo, boardNo, runDay, lastDay } = run;
  const runId = await beginRun(pool, run);
  await onStep?.('begun');
  const shard = shardOf(tenantNo);
  for (const group of await whileWhole(pool, { redis, shard }, () => groupsOfRun(redis, board, run))) {
    let isMore = true;
    while (isMore) {
      if (ending.aborted) return false;
      isMore = await copyChunkAgain(options, { ...over, runId, group });
      if (isMore) await onStep?.('copied');
    }
  }
  await transaction(pool, async (client) => {
    // Somebody else may have finished it.
    if (!(await lockProgress(client, { tenantNo, boardNo, runDay }))) return;
    await finishRun(client, runId);
    await moveProgress(client, { tenantNo, boardNo, runDay: nextRunDay, snapshotDay: lastDay + 1 });
  });
  await onStep?.('finished');
  return true;
}

/** Copies the next members of a group. False: those were the last. */
async function copyChunk({ redis, pool, onStep }: CopyRunOptions, copying: Copying): Promise<boolean> {
  const { board, run, runId, group } = copying;
  const live = new LiveStandings(redis, boardKey(run.tenantNo, { ...run, group }), board.maxParticipants);
  return transaction(pool, async (client) => {
    const copied = await lockGroup(client, runId, group);
    if (copied.isDone) return false;
    await beforeNaming(client, run.tenantNo);
    const before = (await lastCopied(client, copied)) ?? undefined;
    const members = await whileWhole(client, { redis, shard: shardOf(run.tenantNo) }, async () =>
      ranked(live, await live.page(copied.members, CHUNK), { from: copied.members, before }),
    );
    const participants = members.filter(({ rank }) => rank <= (board.maxParticipants ?? Infinity)).length;
    await addMembers(
      client,
      { tenantNo: run.tenantNo, group: copied },
      { members, participants, isDone: members.length < CHUNK },
    );
    await onStep?.('written');
    return members.length === CHUNK;
  });
}

/** As `copyChunk`; a group that moved all the same, so that somebody would be in it twice, is begun again. */
async function copyChunkAgain(options: CopyRunOptions, copying: Copying): Promise<boolean> {
  try {
    return await copyChunk(options, copying);
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    await transaction(options.pool, async (client) =>
      dropMembers(client, await lockGroup(client, copying.runId, copying.group)),
    );
    return true;
  }
}
