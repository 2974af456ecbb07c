import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { COUNTED, SEGMENT } from '../../domain/analytics.ts';
import { toMicros } from '../../domain/decimal.ts';
import { DAY_MS, dayOf, epochDay } from '../../domain/periods.ts';
import { playedRule, runOf, type Run } from '../../domain/runs.ts';
import { addAnalytics, type AnalyticsRow } from '../../postgres/analytics.ts';
import { type BoardProgress, boardsInProgress, lockProgress, moveProgress } from '../../postgres/boards/progress.ts';
import { addSnapshots, snapshotBefore, type TakenSnapshots } from '../../postgres/boards/snapshots.ts';
import { transaction } from '../../postgres/transaction.ts';
import { beforeNaming } from '../../postgres/users/stored-states.ts';
import { withTimeLimit } from '../../pacing/time-limit.ts';
import { whileWhole } from '../persist/cursor-wait.ts';
import type { DueWork } from '../schedule/due-work.ts';
import type { Pieces } from '../schedule/pieces.ts';
import { boardPiece, boardPieces, readyBoards } from './board-pieces.ts';
import { groupsOfRun } from './runs.ts';
import { LiveStandings } from './live-standings.ts';
import { ranked } from './standings.ts';
import { partsFor, placeChanges, createSnapshotPacker, type SnapshotPacker } from './snapshot-parts.ts';

export interface DailySnapshotsOptions {
  redis: Redis;
  pool: Pool;
  /** The boards whose work failed; default: a set of its own. */
  pieces?: Pieces;
  /** Called when a snapshot is written but not committed, so that tests can stop there. */
  onWritten?: () => void | Promise<void>;
}

/** Members in one read: about 1 ms of Redis. */
const CHUNK = 2_000;
/** A transaction takes at most this many days of a board; one day is enough if the board has many members. */
const MOST_DAYS = 400;
const MANY_MEMBERS = 5_000;
/** After this time `perform` leaves the other boards to the next call. */
const LONG_MS = 15_000;

/**
 * Stores the ranks and scores of a board's members at the end of every UTC day, for the run that contains the day. A
 * transaction takes all days of a board that ended without a move, so a crash leaves them due. A snapshot shows the
 * board at the moment at which it is taken, even if the day ended earlier. It also counts how places changed since the day before (analytics). A board whose snapshot fails is set aside;
 * the others go on. A board that is still being filled from history is skipped.
 */
export class DailySnapshots implements DueWork {
  readonly name = 'daily snapshots of leaderboards';
  private readonly options: DailySnapshotsOptions;
  private readonly pieces: Pieces;

  constructor(options: DailySnapshotsOptions) {
    this.options = options;
    this.pieces = options.pieces ?? boardPieces(this.name);
  }

  async due(upToMs: number): Promise<number | null> {
    const earliest = firstSnapshotMs(await this.ready());
    return earliest <= upToMs ? earliest : null;
  }

  async perform(dueMs: number, ending: AbortSignal): Promise<void> {
    await this.upTo(() => dueMs, ending);
  }

  /** Takes all snapshots that are due by a time, which may differ for each board. Returns false if it was aborted. */
  async upTo(lastMs: (progress: BoardProgress) => number, called: AbortSignal): Promise<boolean> {
    const ending = withTimeLimit(called, LONG_MS);
    const lastDay = (progress: BoardProgress): number => epochDay(lastMs(progress)) - 1;
    const isDue = (progress: BoardProgress): boolean => (nextSnapshot(progress)?.day ?? Infinity) <= lastDay(progress);
    for (const progress of (await this.ready()).filter(isDue)) {
      for (let at: BoardProgress | null = progress; at !== null && isDue(at);) {
        if (ending.aborted) return false;
        const from: BoardProgress = at;
        const taken: { value: BoardProgress | null } | undefined = await this.pieces.attempt(
          boardPiece(from),
          ending,
          () => this.take(from, lastDay(from)),
        );
        at = taken?.value ?? null;
      }
    }
    return !ending.aborted;
  }

  private async ready(): Promise<BoardProgress[]> {
    return readyBoards(await boardsInProgress(this.options.pool), this.pieces);
  }

  /** Takes a board's snapshots up to a day, or the first ones. `null`: another worker does the same. */
  private async take(progress: BoardProgress, lastDay: number): Promise<BoardProgress | null> {
    const { redis, pool, onWritten } = this.options;
    const { tenantNo, board, nextSnapshotDay } = progress;
    const boardNo = board.no;
    return transaction(pool, async (client) => {
      if (!(await lockProgress(client, { tenantNo, boardNo, snapshotDay: nextSnapshotDay }))) return null;
      await beforeNaming(client, tenantNo);
      const { taken, at } = await whileWhole(client, { redis, tenantNo }, () => this.read(progress, lastDay));
      for (const snapshots of taken) await addPlaceChanges(client, tenantNo, boardNo, snapshots);
      await addSnapshots(client, tenantNo, boardNo, taken);
      await moveProgress(client, { tenantNo, boardNo, snapshotDay: at.nextSnapshotDay });
      await onWritten?.();
      return at;
    });
  }

  /** A board's snapshots up to a day, or the first of them, and the board's progress after them. */
  private async read(
    progress: BoardProgress,
    lastDay: number,
  ): Promise<{ taken: TakenSnapshots[]; at: BoardProgress }> {
    const { redis } = this.options;
    const { tenantNo, board } = progress;
    const boardNo = board.no;
    let members = 0;
    let at = progress;
    const taken: TakenSnapshots[] = [];
    for (let next = nextSnapshot(at); next !== null && next.day <= lastDay; next = nextSnapshot(at)) {
      if (members > MANY_MEMBERS || taken.length === MOST_DAYS) break;
      const runDay = next.run.startDay;
      const boardRun = { tenantNo, boardNo, runDay };
      const groups = (await groupsOfRun(redis, board, boardRun)).map(
        (group) => new LiveStandings(redis, { ...boardRun, group }, board),
      );
      const counts = await Promise.all(groups.map((group) => group.participants()));
      const count = counts.reduce((sum, each) => sum + each, 0);
      const packer = createSnapshotPacker(partsFor(count));
      for (const [index, group] of groups.entries()) await pack(packer, group, counts[index]!);
      const toDay = Math.min(next.run.endDay ?? lastDay, lastDay);
      taken.push({ runDay, fromDay: next.day, toDay, packed: packer.packed() });
      members += count;
      at = { ...at, nextSnapshotDay: toDay + 1 };
    }
    return { taken, at };
  }
}

/** Counts how places changed since the snapshot before. On the following days of the same snapshot, nothing changed. */
async function addPlaceChanges(
  client: PoolClient,
  tenantNo: number,
  boardNo: number,
  { runDay, fromDay, packed }: TakenSnapshots,
): Promise<void> {
  const before = await snapshotBefore(client, { tenantNo, boardNo, runDay }, fromDay);
  const { changed, distance, joined } = await placeChanges(before, packed);
  const sum = { tenantNo, segment: SEGMENT.everyone, day: fromDay, subject: boardNo, part: 0 };
  const rows: AnalyticsRow[] = [
    { ...sum, kind: COUNTED.placesChanged, events: changed, value: toMicros(String(distance)) },
    { ...sum, kind: COUNTED.placesJoined, events: joined, value: 0n },
  ];
  await addAnalytics(
    client,
    rows.filter(({ events }) => events > 0),
  );
}

async function pack(packer: SnapshotPacker, standings: LiveStandings, count: number): Promise<void> {
  let before: { rank: number; score: number } | undefined;
  for (let from = 0; from < count; from += CHUNK) {
    const page = await standings.page(from, Math.min(CHUNK, count - from));
    const members = await ranked(standings, page, { from, before });
    for (const member of members) packer.add(member);
    before = members.at(-1);
  }
}

interface Next {
  day: number;
  run: Run;
}

/** The time (epoch ms) at which the first missing snapshot of some boards is due; Infinity if there is none. */
export const firstSnapshotMs = (boards: readonly BoardProgress[]): number =>
  (Math.min(...boards.map((progress) => nextSnapshot(progress)?.day ?? Infinity)) + 1) * DAY_MS;

/** The first day of a board's runs without a snapshot; `null` if there are no further ones. */
function nextSnapshot({ board, nextSnapshotDay, nextRunDay }: BoardProgress): Next | null {
  if (nextRunDay === null) return null;
  const rule = playedRule(board);
  const day = Math.max(nextSnapshotDay, dayOf(rule.start));
  const run = runOf(rule, day);
  return run === null ? null : { day, run };
}
