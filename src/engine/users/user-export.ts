/** Exports of a user: everything that Laurel stores. */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import { dateOf, weekdaysOf } from '../../domain/periods.ts';
import type { UserState } from '../../packed/state.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import { finalPlaces } from '../../postgres/boards/final-runs.ts';
import { snapshotPartsWith } from '../../postgres/boards/snapshots.ts';
import { resourceNames, USER_TABLES, userRows, type UserTable } from '../../postgres/users/user-tables.ts';
import { queuedEventsOf } from '../../redis/batches.ts';
import { entryHead, entryOf, userHash } from '../leaderboards/snapshot-parts.ts';
import { untilPersisted } from '../persist/cursor-wait.ts';
import { hidesItself, userResponse } from '../responses.ts';
import { notificationPreferences } from './preferences.ts';
import type { UserReads } from './user-reads.ts';

interface UserExportOptions {
  redis: Redis;
  pool: Pool;
  users: Pick<UserReads, 'state'>;
  clock: Clock;
  controlShare: () => number;
  recordAudit: RecordAudit;
}

/** Everything that is held about one user. */
export class UserExport {
  private readonly options: UserExportOptions;

  constructor(options: UserExportOptions) {
    this.options = options;
  }

  /**
   * One JSON document in pieces, of which a page of rows is the largest. Resources are named, not numbered; secrets of
   * keys are left out. The audit log records it before the first piece. All that was answered before the call is in it; what happens meanwhile may be. Throws
   * before the first piece: 404 for a user never seen, 503 while Postgres is too far behind.
   */
  async *document(compiled: CompiledCatalog, userId: string, by: Author): AsyncGenerator<string> {
    const { redis, pool, users, clock, recordAudit } = this.options;
    const { tenantNo } = compiled.catalog;
    const state = await users.state(tenantNo, userId);
    await untilPersisted({ redis, pool }, tenantNo);
    await recordAudit({ tenantNo, by, entries: [{ action: 'export', kind: 'user', userId }] });
    const names = await resourceNames(pool, tenantNo);
    const profile = {
      exported: new Date(clock.now()).toISOString(),
      ...this.profile(compiled, { userId, state, names }),
    };
    yield JSON.stringify(profile).slice(0, -1);
    for (const table of USER_TABLES) {
      if (table.section === null) continue;
      yield `,${JSON.stringify(table.section)}:[`;
      let separator = '';
      for await (const rows of userRows(pool, table, { tenantNo, userId })) {
        yield separator + rows.map((row) => JSON.stringify(exportRow(row, table, names))).join(',');
        separator = ',';
      }
      yield ']';
    }
    const finals = await finalPlaces(pool, tenantNo, userId, null);
    const finalRanks = finals.map(({ boardNo, runDay, lastDay, group, rank, score }) => ({
      leaderboard: names.get(boardNo) ?? String(boardNo),
      firstDay: dateOf(runDay),
      lastDay: dateOf(lastDay),
      group,
      rank,
      score,
    }));
    yield `,"finalRanks":${JSON.stringify(finalRanks)}`;
    yield `,"leaderboardDays":${JSON.stringify(await this.snapshots({ tenantNo, userId, names }))}`;
    const queued = await queuedEventsOf(redis, { tenantNo, userId });
    yield `,"queuedEvents":${JSON.stringify(queued)}}`;
  }

  /** The user's places in the daily snapshots of boards. One that is as on the day before is listed once. */
  private async snapshots(of: {
    tenantNo: number;
    userId: string;
    names: ReadonlyMap<number, string>;
  }): Promise<object[]> {
    const { tenantNo, userId, names } = of;
    const where = { hash: userHash(userId), bytes: entryHead(userId) };
    const parts = await snapshotPartsWith(this.options.pool, tenantNo, where);
    return parts.flatMap(({ boardNo, runDay, day, packed }) => {
      const entry = entryOf(packed, userId);
      const leaderboard = names.get(boardNo) ?? String(boardNo);
      return entry === null ? [] : [{ leaderboard, firstDay: dateOf(runDay), day: dateOf(day), ...entry }];
    });
  }

  /** What the user's state holds. */
  private profile(
    compiled: CompiledCatalog,
    { userId, state, names }: { userId: string; state: UserState; names: ReadonlyMap<number, string> },
  ): object {
    const named = <T, R>(table: Record<number, T>, describe: (value: T, no: number) => R): Record<string, R> =>
      Object.fromEntries(
        Object.entries(table).map(([no, value]) => [names.get(Number(no)) ?? no, describe(value, Number(no))]),
      );
    const date = (day: number | null): string | null => (day === null ? null : dateOf(day));
    const streaks = Object.entries(state.streaks).map(([frequency, streak]) => [
      frequency,
      {
        length: streak.length,
        started: date(streak.startDay),
        extended: streak.extendedMs === null ? null : new Date(streak.extendedMs).toISOString(),
        current: named(streak.sums, Number),
      },
    ]);
    return {
      user: {
        ...userResponse(compiled, { userId, state, controlShare: this.options.controlShare() }),
        // Those that were deleted from the catalog are still held.
        attributes: named(state.attributes, (value) => value),
      },
      preferences: {
        notifications: notificationPreferences(state),
        streak: state.streakRule && {
          ...state.streakRule,
          metrics: state.streakRule.metrics.map(({ no, threshold }) => ({ metric: names.get(no) ?? no, threshold })),
        },
        hidden: hidesItself(state),
        daysOff: state.daysOff && weekdaysOf(state.daysOff.set),
      },
      metrics: named(state.totals, Number),
      counts: named(state.counts, Number),
      points: named(state.points, (total) => total),
      streaks: Object.fromEntries(streaks),
      freezes: state.freezes,
      leaderboards: named(state.boards, (scores) =>
        scores.map(({ runDay, group, score }) => ({ firstDay: dateOf(runDay), group, score: Number(score) })),
      ),
    };
  }
}

const camel = (column: string): string => column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Columns in which Postgres keeps decimals, which come as texts. */
const DECIMALS = new Set(['value', 'total']);

/** A row as an export shows it: without what is the same in all, numbers of resources as their names, days as dates. */
function exportRow(
  row: Record<string, unknown>,
  { user, hidden = [], words = {} }: UserTable,
  names: ReadonlyMap<number, string>,
): Record<string, unknown> {
  const left = new Set(['tenant_no', user, ...hidden]);
  const nameOf = (no: unknown): string | null => (typeof no === 'number' ? (names.get(no) ?? String(no)) : null);
  const exported: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) {
    if (left.has(column)) continue;
    if (column.endsWith('_nos')) exported[`${camel(column.slice(0, -4))}s`] = ((value ?? []) as unknown[]).map(nameOf);
    else if (column.endsWith('_no')) exported[camel(column.slice(0, -3))] = nameOf(value);
    else if (column.endsWith('_day') && typeof value === 'number') exported[camel(column)] = dateOf(value);
    else if (words[column] !== undefined) exported[camel(column)] = words[column][value as number] ?? value;
    else exported[camel(column)] = DECIMALS.has(column) ? Number(value) : value;
  }
  return exported;
}
