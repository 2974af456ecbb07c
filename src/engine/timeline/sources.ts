import type { Pool } from 'pg';
import { boundsOf, creationPosition, POSITION_KIND, positionOf } from '../../domain/timeline-position.ts';
import type { TimelineQuery } from '../../domain/timeline.ts';
import { awardCauses, completionsOf, type TimelineCompletionRow } from '../../postgres/timeline/causes.ts';
import { eventIds, reversalIds } from '../../postgres/timeline/events.ts';
import {
  auditRows,
  finalRows,
  recomputationIds,
  type RowsQuery,
  streakRows,
  type TimelineAuditRow,
  type TimelineFinalRow,
  type TimelineStreakRow,
} from '../../postgres/timeline/entries.ts';
import { type QuarantineRow, unreleasedOf } from '../../postgres/corrections/quarantine.ts';
import type { TimelineRange } from '../../postgres/timeline/range.ts';
import { uuidText } from '../../domain/uuid.ts';

/** Something at its place in a timeline; what only has a position is looked up by it (`happening.ts`). */
export type Found =
  | { position: string; is: 'happening' }
  | { position: string; is: 'creation' }
  | { position: string; is: 'streak'; row: TimelineStreakRow }
  | { position: string; is: 'final'; row: TimelineFinalRow }
  | { position: string; is: 'quarantine'; row: QuarantineRow }
  | { position: string; is: 'audit'; row: TimelineAuditRow };

/** A user's completions by the position of what caused them. */
export type Completions = ReadonlyMap<string, TimelineCompletionRow[]>;

/** All completions of a user. One of which the cause was not recorded has a place of its own. */
export async function completionsByCause(pool: Pool, user: { tenantNo: number; userId: string }): Promise<Completions> {
  const byCause = new Map<string, TimelineCompletionRow[]>();
  for (const row of await completionsOf(pool, user)) {
    const ownPlace = { atMs: row.at.getTime(), kind: POSITION_KIND.completion, number: row.achievementNo };
    const position = row.causedBy ?? positionOf(ownPlace);
    byCause.set(position, [...(byCause.get(position) ?? []), row]);
  }
  return byCause;
}

interface Source {
  pool: Pool;
  range: TimelineRange;
  completions: Completions;
  createdMs: number;
}

/**
 * The sources of a timeline: each gives what it has in the range, in order, up to the limit. What is recorded of users besides
 * (late events with their times, reversals) joins as a source of its own, or by the position of what it belongs to.
 */
const SOURCES: Record<string, (from: Source) => Promise<Found[]>> = {
  event: async ({ pool, range }) => happening(await eventIds(pool, range)),
  reversal: async ({ pool, range }) => happening(await reversalIds(pool, range)),
  // At the place of the event that it is when it is released.
  quarantine: async ({ pool, range }) =>
    (await unreleasedOf(pool, range)).map((row) => ({ position: uuidText(row.id), is: 'quarantine', row })),
  recomputation: async ({ pool, range }) => happening(await recomputationIds(pool, range)),
  award: async ({ pool, range }) => happening(await awardCauses(pool, range)),
  achievement: async ({ completions, range }) => happening(inRange([...completions.keys()], range)),
  user_creation: async ({ createdMs, range }) =>
    inRange([creationPosition(createdMs)], range).map((position) => ({
      position,
      is: 'creation',
    })),
  streak: async ({ pool, range }) =>
    placed(POSITION_KIND.streak, await streakRows(pool, rowsQuery(POSITION_KIND.streak, range)), (row) => ({
      is: 'streak',
      row,
    })),
  leaderboard: async ({ pool, range }) =>
    placed(POSITION_KIND.leaderboard, await finalRows(pool, rowsQuery(POSITION_KIND.leaderboard, range)), (row) => ({
      is: 'final',
      row,
    })),
  administration: async ({ pool, range }) =>
    placed(
      POSITION_KIND.administration,
      await auditRows(pool, rowsQuery(POSITION_KIND.administration, range)),
      (row) => ({
        is: 'audit',
        row,
      }),
    ),
};

/** The first `limit` of a range, of all kinds or of one. */
export async function firstOf(from: Source, kind: TimelineQuery['kind']): Promise<Found[]> {
  const { newest, limit } = from.range;
  const sources = kind === undefined ? Object.values(SOURCES) : [SOURCES[kind]!];
  const found = new Map<string, Found>();
  for (const source of sources) for (const each of await source(from)) found.set(each.position, each);
  return [...found.values()].toSorted((a, b) => (newest === a.position < b.position ? 1 : -1)).slice(0, limit);
}

const happening = (positions: readonly string[]): Found[] =>
  positions.map((position) => ({ position, is: 'happening' }));

const inRange = (positions: string[], { above, below, newest, limit }: TimelineRange): string[] =>
  positions
    .filter((position) => position > above && position < below)
    .toSorted((a, b) => (newest === a < b ? 1 : -1))
    .slice(0, limit);

const rowsQuery = (kind: number, { tenantNo, userId, above, below, newest, limit }: TimelineRange): RowsQuery => ({
  tenantNo,
  userId,
  bounds: boundsOf(kind, { above, below }),
  newest,
  limit,
});

const placed = <Row extends { atMs: number; no: number }, F>(
  kind: number,
  rows: readonly Row[],
  found: (row: Row) => F,
): (F & { position: string })[] =>
  rows.map((row) => ({ ...found(row), position: positionOf({ atMs: row.atMs, kind, number: row.no }) }));
