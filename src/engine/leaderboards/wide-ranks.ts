/** Ranks of changed scores on boards of wide tenants, which no function can count. */
import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { floorOf, turned } from '../../domain/leaderboard.ts';
import { KIND, kindField, NO_RANK, RECORD, RECORDED_BOARD } from '../../packed/record-fields.ts';
import type { RecordedBoard, ScriptReply } from '../../packed/record.ts';
import { tiePrefix } from '../../packed/state.ts';
import { repliesOf } from '../../redis/commands.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { boardKey } from '../../redis/keys.ts';
import { unlessSilent } from '../../redis/outage.ts';
import { knownParts, tenantParts } from '../../redis/parts.ts';
import { SharedRuns } from '../../pacing/shared-runs.ts';
import { type Log, LogThrottle } from '../../telemetry/log.ts';
import { LiveStandings, membersBefore, type RankedGroup } from './live-standings.ts';
import { type RankedBoard } from './standings.ts';

/** A record whose boards may lack ranks. */
interface Ranked {
  [RECORD.userId]: string;
  [RECORD.boards]?: RecordedBoard[];
}

/** A changed score. */
interface Changed {
  userId: string;
  recorded: RecordedBoard;
}

/** A changed score whose ranks are wanted. */
interface Unranked extends Changed {
  ranked: BoardRanks;
}

/** A leaderboard, or one of its groups, in a run. */
interface BoardRanks {
  at: RankedGroup;
  board: RankedBoard;
  /** The score of the last rank when it was last read; the board's floor if it is not full. */
  threshold: number;
}

/** Nobody sees the ranks of a deleted leaderboard. */
const DELETED: RankedBoard = {
  aggregate: null,
  order: null,
  ties: null,
  secondaryAttributeId: null,
  maxParticipants: null,
};

/** Counts the ranks of a tenant: what is asked for while a round of counting runs is counted in the next one. */
class RankRounds {
  private readonly redis: Redis;
  private readonly tenantNo: number;
  private readonly boards = new Map<string, BoardRanks>();
  private readonly rounds = new SharedRuns(() => this.count(this.waiting.splice(0)), { everyMs: 0 });
  private waiting: Unranked[] = [];

  constructor(redis: Redis, tenantNo: number) {
    this.redis = redis;
    this.tenantNo = tenantNo;
  }

  async add(compiled: CompiledCatalog, changed: readonly Changed[]): Promise<void> {
    if (this.boards.size >= MOST_BOARDS) this.boards.clear();
    for (const each of changed) this.waiting.push({ ...each, ranked: this.boardRanks(compiled, each.recorded) });
    await this.rounds.run();
  }

  private boardRanks(compiled: CompiledCatalog, recorded: RecordedBoard): BoardRanks {
    const [boardNo, runDay] = [recorded[RECORDED_BOARD.board], recorded[RECORDED_BOARD.runDay]];
    const board = compiled.leaderboardsByNo.get(boardNo) ?? DELETED;
    const group = recorded[RECORDED_BOARD.group];
    const name = `${boardNo}:${runDay}:${group}`;
    let ranks = this.boards.get(name);
    if (ranks === undefined)
      this.boards.set(
        name,
        (ranks = { at: { tenantNo: this.tenantNo, boardNo, runDay, group }, board, threshold: floorOf(board) }),
      );
    ranks.board = board;
    return ranks;
  }

  /**
   * One round trip, in which each part counts for all of them, and more if a board's last rank moved. The last rank is
   * checked once for each board. Scores below it are not counted, as most are on a full board.
   */
  private async count(unranked: readonly Unranked[]): Promise<void> {
    const boards = [...new Set(unranked.map(({ ranked }) => ranked))].filter(
      ({ board }) => board.maxParticipants !== null,
    );
    const reaches = ({ recorded, ranked: { threshold } }: Unranked): boolean =>
      Math.max(recorded[RECORDED_BOARD.previousScore]!, recorded[RECORDED_BOARD.score]!) >= threshold;
    // Where equal scores rank by time, the number of scores above one is not its rank.
    const byScore = unranked.filter(({ ranked }) => ranked.board.ties !== 'first');
    const counted = new Set(byScore.filter(reaches));
    const sums = await this.sumOf([
      ...boards.flatMap(({ at, threshold }) => [
        { at, from: `(${threshold}` },
        { at, from: String(threshold) },
      ]),
      ...rangesOf([...counted]),
    ]);
    await Promise.all(
      boards.map(async (ranks, index) => {
        const { at, board, threshold } = ranks;
        const [above, to, max] = [sums[2 * index]!, sums[2 * index + 1]!, board.maxParticipants!];
        if (above < max && (threshold === floorOf(board) || to >= max)) return;
        const [last] = await new LiveStandings(this.redis, at, board).page(max - 1, 1);
        ranks.threshold = last === undefined ? floorOf(board) : turned(board, last.score);
      }),
    );
    for (const each of unranked) rank(each, [Infinity, Infinity]);
    for (const [index, each] of [...counted].entries()) rank(each, sums.slice(2 * (boards.length + index)));
    const missed = byScore.filter((each) => reaches(each) && !counted.has(each));
    const others = missed.length === 0 ? [] : await this.sumOf(rangesOf(missed));
    for (const [index, each] of missed.entries()) rank(each, others.slice(2 * index));
    const timed = unranked.filter((each) => each.ranked.board.ties === 'first' && reaches(each));
    await Promise.all(timed.map(async (each) => rank(each, await this.beforeTimed(each))));
  }

  /** The number of members before the previous and before the new score of a user, where equal scores rank by time. */
  private beforeTimed({ userId, recorded, ranked: { at } }: Unranked): Promise<number[]> {
    const members = [
      { score: recorded[RECORDED_BOARD.previousScore]!, reached: recorded[RECORDED_BOARD.previousReached] ?? 0 },
      { score: recorded[RECORDED_BOARD.score]!, reached: recorded[RECORDED_BOARD.reached] ?? 0 },
    ];
    return Promise.all(
      members.map(async ({ score, reached }) => {
        const member = prefixOf(reached) + userId;
        const before = await Promise.all(
          tenantParts(this.redis, this.tenantNo).map((part) =>
            membersBefore(connectionOf(this.redis, part.shard), boardKey(part, at), { member, score }),
          ),
        );
        return before.reduce((sum, each) => sum + each, 0);
      }),
    );
  }

  /** The number of scores in each range, over all parts. */
  private async sumOf(ranges: readonly { at: RankedGroup; from: string }[]): Promise<number[]> {
    const byPart = await Promise.all(
      tenantParts(this.redis, this.tenantNo).map(async (part) => {
        const pipeline = connectionOf(this.redis, part.shard).pipeline();
        for (const { at, from } of ranges) pipeline.zcount(boardKey(part, at), from, '+inf');
        return repliesOf<number[]>(pipeline);
      }),
    );
    return ranges.map((_, index) => byPart.reduce((sum, counts) => sum + counts[index]!, 0));
  }
}

/** The scores above the previous and the new one. */
const rangesOf = (unranked: readonly Unranked[]): { at: RankedGroup; from: string }[] =>
  unranked.flatMap(({ recorded, ranked: { at } }) => [
    { at, from: `(${recorded[RECORDED_BOARD.previousScore]!}` },
    { at, from: `(${recorded[RECORDED_BOARD.score]!}` },
  ]);

/** The text with which a member begins; see RECORDED_BOARD. */
const prefixOf = (reached: number | string): string =>
  typeof reached === 'string' ? reached : tiePrefix({ reached, secondary: null });

/** Notes the ranks, given the number of members above the previous and above the new score. */
function rank({ recorded, ranked: { board, threshold } }: Unranked, above: readonly number[]): void {
  const [before, after] = [recorded[RECORDED_BOARD.previousScore]!, recorded[RECORDED_BOARD.score]!];
  const rankAt = (score: number, count: number): number =>
    score <= floorOf(board) || count >= (board.maxParticipants ?? Infinity) ? NO_RANK.off : count + 1;
  const isEarlier =
    prefixOf(recorded[RECORDED_BOARD.reached] ?? 0) > prefixOf(recorded[RECORDED_BOARD.previousReached] ?? 0);
  // The user is no longer at the previous score, but may be above it.
  const isAbove = after > before || (after === before && isEarlier);
  recorded[RECORDED_BOARD.previousRank] = rankAt(before, above[0]! - (isAbove ? 1 : 0));
  recorded[RECORDED_BOARD.rank] = rankAt(after, above[1]!);
  recorded[RECORDED_BOARD.threshold] = threshold;
}

const tenants = new WeakMap<Redis, Map<number, RankRounds>>();
const MOST_BOARDS = 10_000;

/**
 * Adds the current ranks to records of a wide tenant that lack them. A user's previous rank is that of the previous score
 * now. Throws errors of Redis.
 */
export async function addRanks(redis: Redis, compiled: CompiledCatalog, records: readonly Ranked[]): Promise<void> {
  const { tenantNo } = compiled.catalog;
  const unranked = records
    .flatMap((record) => (record[RECORD.boards] ?? []).map((recorded) => ({ userId: record[RECORD.userId], recorded })))
    .filter(({ recorded }) => recorded[RECORDED_BOARD.rank] === NO_RANK.unranked);
  if (unranked.length === 0) return;
  let known = tenants.get(redis);
  if (known === undefined) tenants.set(redis, (known = new Map()));
  let rounds = known.get(tenantNo);
  if (rounds === undefined) known.set(tenantNo, (rounds = new RankRounds(redis, tenantNo)));
  await rounds.add(compiled, unranked);
}

/** Adds ranks to replies about events, or leaves the boards out of them. */
export type EventRanks = (compiled: CompiledCatalog, replies: readonly ScriptReply[]) => Promise<void>;

/** A cause that leaves out the boards of a tenant's events is logged once in this interval. */
const LOG_EVERY_MS = 60_000;

/**
 * The same for replies about events. Without ranks, the answer leaves out the boards, which is logged: the events are applied, and an
 * event does not wait for a server that is silent.
 */
export function createEventRanks(redis: Redis, log: Pick<Log, 'warn'>): EventRanks {
  const throttle = new LogThrottle(LOG_EVERY_MS);
  return async (compiled, replies) => {
    const { tenantNo } = compiled.catalog;
    await addRanksOrLeaveOut(redis, compiled, replies, (events, error) => {
      const text =
        'The answers to some events have no leaderboards, because the ranks could not be read; the events are stored';
      throttle.log(tenantNo, (suppressed) => log.warn({ err: error, tenantNo, events, suppressed }, text));
    });
  };
}

async function addRanksOrLeaveOut(
  redis: Redis,
  compiled: CompiledCatalog,
  replies: readonly ScriptReply[],
  onLeftOut: (events: number, error: unknown) => void,
): Promise<void> {
  const applied = replies.flatMap((reply) =>
    reply[kindField] === KIND.event && reply[RECORD.boards] !== undefined ? [reply] : [],
  );
  if (applied.length === 0) return;
  const servers = new Set(knownParts(redis, compiled.catalog.tenantNo).map(({ shard }) => connectionOf(redis, shard)));
  await unlessSilent(servers, () => addRanks(redis, compiled, applied)).catch((error: unknown) => {
    for (const record of applied) delete record[RECORD.boards];
    onLeftOut(applied.length, error);
  });
}
