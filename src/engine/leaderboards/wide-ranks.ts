/** Ranks of changed scores on boards of wide tenants, which no function can count. */
import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { KIND, kindField, NO_RANK, RECORD, RECORDED_BOARD } from '../../packed/record-fields.ts';
import type { RecordedBoard, ScriptReply } from '../../packed/record.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { boardKey } from '../../redis/keys.ts';
import { tenantParts } from '../../redis/parts.ts';
import { LiveStandings, type RankedGroup } from './standings.ts';

/** A record whose boards may lack ranks. */
interface Ranked {
  [RECORD.boards]?: RecordedBoard[];
}

/** The last known score of the last rank, by board, run and group. Checked with each use. */
const thresholds = new Map<string, number>();
const MOST_THRESHOLDS = 10_000;

/**
 * Adds the current ranks to records of a wide tenant that lack them: with one round trip, in which each part
 * answers for all of them, and another one for boards whose last rank moved. A user's previous rank is that of the
 * previous score now. Throws errors of Redis.
 */
export async function addRanks(redis: Redis, compiled: CompiledCatalog, records: readonly Ranked[]): Promise<void> {
  const { tenantNo } = compiled.catalog;
  const unranked = records
    .flatMap((record) => record[RECORD.boards] ?? [])
    .filter((recorded) => recorded[RECORDED_BOARD.rank] === NO_RANK.unranked)
    .map((recorded) => {
      const at = groupOf(tenantNo, recorded);
      const name = JSON.stringify(at);
      return { recorded, at, name, threshold: thresholds.get(name) ?? 0 };
    });
  if (unranked.length === 0) return;
  const counted = await Promise.all(
    tenantParts(redis, tenantNo).map(async (part) => {
      const pipeline = connectionOf(redis, part.shard).pipeline();
      for (const { recorded, at, threshold } of unranked) {
        const key = boardKey(part, at);
        pipeline.zcount(key, `(${recorded[RECORDED_BOARD.previousScore]!}`, '+inf');
        pipeline.zcount(key, `(${recorded[RECORDED_BOARD.score]!}`, '+inf');
        pipeline.zcount(key, `(${threshold}`, '+inf');
        pipeline.zcount(key, threshold, '+inf');
      }
      return ((await pipeline.exec()) ?? []).map(([error, count]) => {
        if (error) throw error;
        return count as number;
      });
    }),
  );
  await Promise.all(
    unranked.map(async ({ recorded, at, name, threshold }, index) => {
      const [aboveBefore, aboveAfter, aboveThreshold, toThreshold] = [0, 1, 2, 3].map((of) =>
        counted.reduce((total, counts) => total + counts[index * 4 + of]!, 0),
      ) as [number, number, number, number];
      const max = compiled.leaderboardsByNo.get(at.boardNo)?.maxParticipants ?? null;
      const before = recorded[RECORDED_BOARD.previousScore]!;
      const after = recorded[RECORDED_BOARD.score]!;
      // The user is no longer at the previous score, but may be above it.
      const self = after > before ? 1 : 0;
      const rank = (score: number, above: number): number =>
        score <= 0 || (max !== null && above >= max) ? NO_RANK.off : above + 1;
      recorded[RECORDED_BOARD.previousRank] = rank(before, aboveBefore - self);
      recorded[RECORDED_BOARD.rank] = rank(after, aboveAfter);
      recorded[RECORDED_BOARD.threshold] = 0;
      if (max === null) return;
      const isKnown = aboveThreshold < max && (threshold === 0 || toThreshold >= max);
      const score = isKnown ? threshold : ((await new LiveStandings(redis, at, max).page(max - 1, 1))[0]?.score ?? 0);
      if (thresholds.size >= MOST_THRESHOLDS) thresholds.clear();
      thresholds.set(name, score);
      recorded[RECORDED_BOARD.threshold] = score;
    }),
  );
}

/** The same for replies about events. Without ranks, the answer leaves out the boards: the events are applied. */
export async function addRanksOrLeaveOut(
  redis: Redis,
  compiled: CompiledCatalog,
  replies: readonly ScriptReply[],
): Promise<void> {
  const applied = replies.flatMap((reply) => (reply[kindField] === KIND.event ? [reply] : []));
  await addRanks(redis, compiled, applied).catch(() => {
    for (const record of applied) delete record[RECORD.boards];
  });
}

const groupOf = (tenantNo: number, recorded: RecordedBoard): RankedGroup => ({
  tenantNo,
  boardNo: recorded[RECORDED_BOARD.board],
  runDay: recorded[RECORDED_BOARD.runDay],
  group: recorded[RECORDED_BOARD.group],
});
