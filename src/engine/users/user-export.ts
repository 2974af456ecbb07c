import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import { turned } from '../../domain/leaderboard.ts';
import { dateOf, weekdaysOf, isoTimeOrNull } from '../../domain/periods.ts';
import { timeIn } from '../../rules/leaderboards.ts';
import { metadataIn } from '../../rules/metadata.ts';
import type { RunOfPlan } from '../../rules/teams.ts';
import type { User } from '../../rules/user.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import { finalPlaces } from '../../postgres/boards/final-runs.ts';
import { searchRuns } from '../../postgres/boards/snapshots.ts';
import { resourceNames, USER_TABLES, userRows, type UserTable } from '../../postgres/users/user-tables.ts';
import { queuedEventsOf } from '../../redis/batches.ts';
import { entryHead, entryOf, userHash } from '../leaderboards/snapshot-parts.ts';
import { shownSecondary } from '../leaderboards/shown-rankings.ts';
import { untilPersisted } from '../persist/cursor-wait.ts';
import { mappedInSlices } from '../../pacing/slices.ts';
import { byNumber, hidesItself, userResponse } from '../responses/users.ts';
import { notificationPreferences } from './preferences.ts';
import type { UserReads } from './user-reads.ts';
import { decimalNumber, decimalText } from '../../domain/decimal.ts';
import { groupedBy } from '../../grouped.ts';

interface UserExportOptions {
  redis: Redis;
  pool: Pool;
  users: Pick<UserReads, 'state'>;
  clock: Clock;
  controlShare: () => number;
  recordAudit: RecordAudit;
}

export function createUserExport({ pool, controlShare, redis, users, clock, recordAudit }: UserExportOptions) {
  /**
   * Yields one JSON document in pieces of at most a page of rows. Resources are named instead of numbered; secrets of keys
   * are omitted. The audit log records the export before the first piece. Includes everything answered before the call, and
   * possibly later changes. Throws before the first piece: 404 for an unknown user, 503 while Postgres is too far behind.
   */
  async function* document(compiled: CompiledCatalog, userId: string, by: Author): AsyncGenerator<string> {
    const { tenantNo } = compiled.catalog;
    const state = await users.state(tenantNo, userId);
    await untilPersisted({ redis, pool }, tenantNo, userId);
    await recordAudit({ tenantNo, by, entries: [{ action: 'export', kind: 'user', userId }] });
    const names = await resourceNames(pool, tenantNo);
    const profile = { exported: new Date(clock.now()).toISOString(), ...profileOf(compiled, userId, state, names) };
    yield JSON.stringify(profile).slice(0, -1);
    for (const table of USER_TABLES) {
      if (table.section === null) continue;
      yield `,${JSON.stringify(table.section)}:[`;
      const exported = rowExport(table, names);
      let separator = '';
      for await (const rows of userRows(pool, table, tenantNo, userId)) {
        yield separator + (await mappedInSlices(rows, (row) => JSON.stringify(exported(row)))).join(',');
        separator = ',';
      }
      yield ']';
    }
    const finals = await finalPlaces(pool, tenantNo, userId, null);
    const finalRanks = finals.map(({ boardNo, runDay, lastDay, group, rank, score, secondary, metadata }) => ({
      leaderboard: names.get(boardNo) ?? String(boardNo),
      firstDay: dateOf(runDay),
      lastDay: dateOf(lastDay),
      group,
      rank,
      score,
      ...secondaryOf(compiled, boardNo, secondary),
      ...(metadata !== null && { metadata: JSON.parse(metadata) }),
    }));
    yield `,"finalRanks":${JSON.stringify(finalRanks)}`;
    yield ',"leaderboardDays":[';
    let separator = '';
    for await (const days of snapshots({ tenantNo, userId, names })) {
      if (days.length === 0) continue;
      yield separator + days.map((day) => JSON.stringify(day)).join(',');
      separator = ',';
    }
    yield ']';
    const queued = await queuedEventsOf(redis, tenantNo, userId);
    yield `,"queuedEvents":${JSON.stringify(queued)}}`;
  }

  /** The user's places in the daily snapshots of boards. Consecutive equal places are listed once. */
  async function* snapshots(of: {
    tenantNo: number;
    userId: string;
    names: ReadonlyMap<number, string>;
  }): AsyncGenerator<object[]> {
    const { tenantNo, userId, names } = of;
    const where = { hash: userHash(userId), bytes: entryHead(userId) };
    for (let from: string | null = ''; from !== null;) {
      const { parts, cursor } = await searchRuns(pool, { tenantNo, lastDays: null, cursor: from }, where);
      yield parts.flatMap(({ boardNo, runDay, day, packed }) => {
        const entry = entryOf(packed, userId);
        const leaderboard = names.get(boardNo) ?? String(boardNo);
        return entry === null ? [] : [{ leaderboard, firstDay: dateOf(runDay), day: dateOf(day), ...entry }];
      });
      from = cursor;
    }
  }

  function profileOf(
    compiled: CompiledCatalog,
    userId: string,
    state: User,
    names: ReadonlyMap<number, string>,
  ): object {
    const named = <T, R>(table: ReadonlyMap<number, T>, describe: (value: T, no: number) => R): Record<string, R> =>
      Object.fromEntries(byNumber(table).map(([no, value]) => [names.get(no) ?? no, describe(value, no)]));
    const boards = groupedBy(state.scores, (score) => score.board);
    const date = (day: number | null): string | null => (day === null ? null : dateOf(day));
    const streaks = Object.entries(state.streaks).map(([frequency, streak]) => [
      frequency,
      {
        length: streak.length,
        started: date(streak.startDay),
        extended: isoTimeOrNull(streak.extendedMs),
        current: named(streak.sums, decimalNumber),
      },
    ]);
    return {
      user: {
        ...userResponse(compiled, { userId, state, controlShare: controlShare() }),
        // Including those that were deleted from the catalog.
        attributes: named(state.attributes, (value) => value),
      },
      preferences: {
        notifications: notificationPreferences(state),
        streak: state.streakRule && {
          ...state.streakRule,
          metrics: state.streakRule.metrics.map(({ metric, ...threshold }) => ({
            metric: names.get(metric) ?? metric,
            threshold: decimalText(threshold),
          })),
        },
        hidden: hidesItself(state),
        daysOff: state.daysOff && weekdaysOf(state.daysOff.set),
      },
      metrics: named(state.totals, decimalNumber),
      counts: named(state.counts, decimalNumber),
      points: named(state.points, (total) => total),
      streaks: Object.fromEntries(streaks),
      freezes: state.freezes,
      leaderboards: named(boards, (scores, no) => {
        const board = compiled.leaderboardsByNo.get(no);
        const valueOf = (score: number): number => (board === undefined ? score : turned(board, score));
        return scores.map(({ runDay, group, ...score }) => ({
          firstDay: dateOf(runDay),
          group,
          score: valueOf(decimalNumber(score)),
          ...secondaryOf(compiled, no, timeIn(state, { board: no, runDay })?.secondary),
          ...metadataOf(state, { board: no, runDay }),
        }));
      }),
    };
  }

  return { document };
}

/** The secondary score of a rank number; nothing without one, or for a deleted leaderboard. */
const secondaryOf = (compiled: CompiledCatalog, boardNo: number, rank: number | null | undefined) => {
  const board = compiled.leaderboardsByNo.get(boardNo);
  return board === undefined ? {} : shownSecondary(board, rank);
};

/** What the entry of a run shows; nothing if it has no metadata. */
function metadataOf(user: User, run: RunOfPlan): { metadata?: unknown } {
  const json = metadataIn(user, run);
  return json === null ? {} : { metadata: JSON.parse(json) };
}

const camel = (column: string): string => column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Decimal columns, whose values Postgres returns as text. */
const DECIMALS = new Set(['value', 'total']);

interface ExportedColumn {
  field: string;
  valueOf: (value: unknown) => unknown;
}

/** Rows of a table in the export's form, with names of resources and dates of days. */
function rowExport(
  { user, hidden = [], words = {} }: UserTable,
  names: ReadonlyMap<number, string>,
): (row: Record<string, unknown>) => Record<string, unknown> {
  const left = new Set(['tenant_no', user, ...hidden]);
  const nameOf = (no: unknown): string | null => (typeof no === 'number' ? (names.get(no) ?? String(no)) : null);
  const columnOf = (column: string): ExportedColumn | null => {
    if (left.has(column)) return null;
    if (column.endsWith('_nos'))
      return {
        field: `${camel(column.slice(0, -4))}s`,
        valueOf: (value) => ((value ?? []) as unknown[]).map(nameOf),
      };
    if (column.endsWith('_no')) return { field: camel(column.slice(0, -3)), valueOf: nameOf };
    const field = camel(column);
    const inWords = words[column];
    if (column.endsWith('_day'))
      return {
        field,
        valueOf: (value) => (typeof value === 'number' ? dateOf(value) : (inWords?.[value as number] ?? value)),
      };
    if (inWords !== undefined) return { field, valueOf: (value) => inWords[value as number] ?? value };
    return { field, valueOf: DECIMALS.has(column) ? Number : (value) => value };
  };
  const columns = new Map<string, ExportedColumn | null>();
  return (row) => {
    const exported: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(row)) {
      let column = columns.get(name);
      if (column === undefined) columns.set(name, (column = columnOf(name)));
      if (column !== null) exported[column.field] = column.valueOf(value);
    }
    return exported;
  };
}
