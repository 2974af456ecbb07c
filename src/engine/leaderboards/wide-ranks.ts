/** Ranks of changed scores on boards of wide tenants, which no function can count. */
import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { NO_RANK, RECORD, RECORDED_BOARD } from '../../packed/record-fields.ts';
import type { RecordedBoard } from '../../packed/record.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { boardKey } from '../../redis/keys.ts';
import { tenantParts } from '../../redis/parts.ts';
import { LiveStandings, type RankedGroup } from './standings.ts';

/** A record whose boards may lack ranks. */
interface Ranked {
  [RECORD.boards]?: RecordedBoard[];
}

/** For how long the score of the last rank is trusted: ms. */
const THRESHOLD_MS = 1_000;

const thresholds = new WeakMap<Redis, Map<string, { atMs: number; score: Promise<number> }>>();

/**
 * Adds the current ranks to records of a wide tenant that lack them: with one round trip, in which each part
 * answers for all of them. A user's previous rank is that of the previous score now. The score of the last rank of a full
 * board is up to a second old. Throws errors of Redis.
 */
export async function addRanks(redis: Redis, compiled: CompiledCatalog, records: readonly Ranked[]): Promise<void> {
  const { tenantNo } = compiled.catalog;
  const unranked = records
    .flatMap((record) => record[RECORD.boards] ?? [])
    .filter((recorded) => recorded[RECORDED_BOARD.rank] === NO_RANK.unranked)
    .map((recorded) => ({ recorded, at: groupOf(tenantNo, recorded), asked: { before: 0, after: 0 } }));
  if (unranked.length === 0) return;
  const parts = tenantParts(redis, tenantNo);
  const counted = await Promise.all(
    parts.map(async (part) => {
      const pipeline = connectionOf(redis, part.shard).pipeline();
      for (const { recorded, at } of unranked) {
        const key = boardKey(part, at);
        pipeline.zcount(key, `(${recorded[RECORDED_BOARD.previousScore]!}`, '+inf');
        pipeline.zcount(key, `(${recorded[RECORDED_BOARD.score]!}`, '+inf');
      }
      return ((await pipeline.exec()) ?? []).map(([error, count]) => {
        if (error) throw error;
        return count as number;
      });
    }),
  );
  await Promise.all(
    unranked.map(async ({ recorded, at }, index) => {
      const above = (of: number): number => counted.reduce((sum, counts) => sum + counts[index * 2 + of]!, 0);
      const max = compiled.leaderboardsByNo.get(at.boardNo)?.maxParticipants ?? null;
      const before = recorded[RECORDED_BOARD.previousScore]!;
      const after = recorded[RECORDED_BOARD.score]!;
      // The user is no longer at the previous score, but may be above it.
      const self = after > before ? 1 : 0;
      const rank = (score: number, count: number): number =>
        score <= 0 || (max !== null && count >= max) ? NO_RANK.off : count + 1;
      recorded[RECORDED_BOARD.previousRank] = rank(before, above(0) - self);
      recorded[RECORDED_BOARD.rank] = rank(after, above(1));
      recorded[RECORDED_BOARD.threshold] = max === null ? 0 : await thresholdOf(redis, at, max);
    }),
  );
}

const groupOf = (tenantNo: number, recorded: RecordedBoard): RankedGroup => ({
  tenantNo,
  boardNo: recorded[RECORDED_BOARD.board],
  runDay: recorded[RECORDED_BOARD.runDay],
  group: recorded[RECORDED_BOARD.group],
});

/** The score of the last rank; 0 if the board is not full. */
async function thresholdOf(redis: Redis, at: RankedGroup, max: number): Promise<number> {
  let known = thresholds.get(redis);
  if (known === undefined) thresholds.set(redis, (known = new Map()));
  const name = JSON.stringify(at);
  const nowMs = performance.now();
  let found = known.get(name);
  if (found === undefined || nowMs - found.atMs > THRESHOLD_MS) {
    for (const [key, { atMs }] of known) if (nowMs - atMs > THRESHOLD_MS) known.delete(key);
    const score = new LiveStandings(redis, at, max).page(max - 1, 1).then(([last]) => last?.score ?? 0);
    known.set(name, (found = { atMs: nowMs, score }));
  }
  return found.score;
}
