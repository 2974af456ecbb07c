import type { Pool } from 'pg';
import type { PointsSystem } from '../../src/domain/catalog.ts';
import { PointsReads } from '../../src/engine/points/points-reads.ts';
import { createUserPoints, type UserPoints } from '../../src/engine/points/user-points.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import type { LaurelModel } from './laurel-model.ts';
import { levelOf } from './points.ts';
import type { Said } from './seen.ts';
import { matches, outstanding, pointsOf, type ModelUser } from './user.ts';

/** More than a history makes. */
const AWARDS = 10_000;

/** Performs every read of points systems on both sides. Everything from Postgres must be stored. */
export class ComparePoints {
  private readonly engine: TestUsers;
  private readonly model: LaurelModel;
  private readonly points: PointsReads;
  private readonly ofUsers: UserPoints;

  constructor(engine: TestUsers, model: LaurelModel, pool: Pool) {
    const { redis, users, clock } = engine;
    this.engine = engine;
    this.model = model;
    this.points = new PointsReads(redis, pool, clock);
    this.ofUsers = createUserPoints(pool, users, clock);
  }

  /** A user's points with all awards. */
  async ofUser(user: ModelUser, { id, key, expiresAfterDays }: PointsSystem): Promise<Said> {
    const read = await this.ofUsers.points(this.engine.compiled(), user.id, { key, awards: AWARDS });
    const total = pointsOf(user, id);
    const awards = user.awards.filter(({ systemId }) => systemId === id);
    return {
      engine: {
        total: read.total,
        balance: read.balance,
        level: read.level?.key ?? null,
        awards: inOrder(
          read.awards.map(({ date, awarded, total: after, trigger, boosts = [] }) => [
            Date.parse(date!),
            awarded,
            after,
            trigger?.id,
            ...boosts.map((boost) => boost.id).toSorted(),
          ]),
        ),
      },
      model: {
        total,
        balance:
          expiresAfterDays !== null || user.spendings.some(({ systemId }) => systemId === id)
            ? total - outstanding(user, id, this.model.nowMs)
            : undefined,
        level: levelOf(this.model.catalog, id, total),
        awards: inOrder(
          awards.map(({ atMs, awarded, total: after, triggerId, boostIds }) => [
            atMs,
            awarded,
            after,
            triggerId,
            ...boostIds,
          ]),
        ),
      },
    };
  }

  /** How many users hold how many points, all and those of a plan, and how many are on each level. */
  async summaries({ id, key }: PointsSystem): Promise<Said> {
    const compiled = this.engine.compiled();
    const levels = this.model.catalog.levels.filter(({ systemId }) => systemId === id);
    const totals = this.totals(id, {});
    return {
      engine: {
        all: await this.points.summary(compiled, key, undefined),
        pro: await this.points.summary(compiled, key, 'plan:pro'),
        levels: levels.length === 0 ? [] : await this.onLevels(key),
      },
      model: {
        all: ranges(totals),
        pro: ranges(this.totals(id, { plan: 'pro' })),
        levels: levels
          .toSorted((a, b) => a.points - b.points)
          .map((level) => [
            level.key,
            totals.filter((total) => levelOf(this.model.catalog, id, total) === level.key).length,
          ]),
      },
    };
  }

  private async onLevels(key: string): Promise<(readonly [string | undefined, number])[]> {
    const summary = await this.points.levelSummary(this.engine.compiled(), key);
    return summary.map(({ level, users }) => [level.key, users] as const);
  }

  private totals(systemId: string, attributes: Record<string, string>): number[] {
    return [...this.model.users.values()]
      .filter((user) => matches(user.attributes, attributes))
      .map((user) => pointsOf(user, systemId));
  }
}

type ToldAward = readonly [atMs: number, ...rest: (number | string | undefined)[]];

/** Newest first; the order of those of one moment is undefined. */
const inOrder = (awards: readonly ToldAward[]): ToldAward[] =>
  awards.toSorted((a, b) => b[0] - a[0] || (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

/** 0, and ten ranges of equal size up to the maximum total rounded up to a power of ten. */
function ranges(totals: readonly number[]): { from: number; to: number; users: number }[] {
  let greatest = 10;
  while (totals.some((total) => total > greatest)) greatest *= 10;
  const size = greatest / 10;
  const bounds = [{ from: 0, to: 0 }];
  for (let to = size; to <= greatest; to += size) bounds.push({ from: to - size + 1, to });
  return bounds.map(({ from, to }) => ({
    from,
    to,
    users: totals.filter((total) => total >= from && total <= to).length,
  }));
}
