import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { DAY_MS, dayOf } from '../../domain/periods.ts';
import { playedRule, runOf, type Run } from '../../domain/runs.ts';
import { boardsInProgress, lockProgress, moveProgress, type BoardProgress } from '../../postgres/boards/progress.ts';
import { addSnapshot } from '../../postgres/boards/snapshots.ts';
import { transaction } from '../../postgres/transaction.ts';
import { boardKey } from '../../redis/keys.ts';
import type { DueWork } from '../schedule/due-work.ts';
import { filledBoards } from './filled-boards.ts';
import { groupsOfRun } from './groups-of-run.ts';
import { ranked } from './ranked.ts';
import { partsFor, SnapshotPacker } from './snapshot-parts.ts';
import { LiveStandings } from './standings.ts';

export interface DailySnapshotsOptions {
  redis: Redis;
  pool: Pool;
  /** Called when a snapshot is written and not committed: for tests, which stop the world there. */
  onWritten?: () => void | Promise<void>;
}

/** Members read at once: Redis gives them in about 1 ms. */
const CHUNK = 2_000;
/** Then `perform` leaves the other boards to the next call. */
const LONG_MS = 15_000;

/**
 * Keeps the ranks and scores of those on a board at the end of every UTC day, of the run that contains the day. A
 * snapshot is one transaction, so a crash leaves it due. It shows the board of the moment at which it is taken: days
 * that ended while nobody took any get that of later.
 */
export class DailySnapshots implements DueWork {
  readonly name = 'daily snapshots of leaderboards';
  private readonly options: DailySnapshotsOptions;

  constructor(options: DailySnapshotsOptions) {
    this.options = options;
  }

  async due(upToMs: number): Promise<number | null> {
    const days = (await boardsInProgress(this.options.pool))
      .map(nextSnapshot)
      .flatMap((next) => (next === null ? [] : [next.day]));
    const earliest = (Math.min(...days) + 1) * DAY_MS;
    return earliest <= upToMs ? earliest : null;
  }

  async perform(dueMs: number, called: AbortSignal): Promise<void> {
    const ending = AbortSignal.any([called, AbortSignal.timeout(LONG_MS)]);
    const isDue = (progress: BoardProgress): boolean =>
      ((nextSnapshot(progress)?.day ?? Infinity) + 1) * DAY_MS <= dueMs;
    for (const progress of await filledBoards(this.options.pool, isDue, called)) {
      const next = nextSnapshot(progress);
      if (next === null) continue;
      if (ending.aborted) return;
      await this.take(progress, next);
    }
  }

  private async take({ tenantNo, board, nextSnapshotDay }: BoardProgress, { day, run }: Next): Promise<void> {
    const { redis, pool, onWritten } = this.options;
    const boardNo = board.no;
    const boardRun = { tenantNo, boardNo, runDay: run.startDay };
    await transaction(pool, async (client) => {
      if (!(await lockProgress(client, { tenantNo, boardNo, snapshotDay: nextSnapshotDay }))) return;
      const groups = (await groupsOfRun(redis, board, boardRun)).map(
        (group) => new LiveStandings(redis, boardKey(tenantNo, { ...boardRun, group }), board.maxParticipants),
      );
      const counts = await Promise.all(groups.map((group) => group.participants()));
      const parts = partsFor(counts.reduce((sum, count) => sum + count, 0));
      const packer = new SnapshotPacker(parts);
      for (const [index, group] of groups.entries()) await pack(packer, group, counts[index]!);
      await addSnapshot(client, { ...boardRun, day, atMs: (day + 1) * DAY_MS, parts }, packer.packed());
      await moveProgress(client, { tenantNo, boardNo, snapshotDay: day + 1 });
      await onWritten?.();
    });
  }
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

/** The first day of a board's runs of which there is no snapshot; null: there are no more. */
function nextSnapshot({ board, nextSnapshotDay, nextRunDay }: BoardProgress): Next | null {
  if (nextRunDay === null) return null;
  const rule = playedRule(board);
  const day = Math.max(nextSnapshotDay, dayOf(rule.start));
  const run = runOf(rule, day);
  return run === null ? null : { day, run };
}
